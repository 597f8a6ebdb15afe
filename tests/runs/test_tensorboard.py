"""TensorBoard shows what the round table holds."""

import struct

from tensorboardX.proto.event_pb2 import Event

from fedroam.runs import parse, play, read_rounds


def events(path):
    """All events in a folder: records of length, checksum, event, checksum."""
    for file in sorted(path.iterdir()):
        data = file.read_bytes()
        while data:
            (length,) = struct.unpack("<Q", data[:8])
            yield Event.FromString(data[12 : 12 + length])
            data = data[16 + length :]


def test_event_files_hold_the_round_lengths_at_their_simulated_times(tmp_path):
    """One value a round, at the round's number and the simulated second at which it ended."""
    table = {"stop": {"rounds": 4}, "record": {"tensorboard": True}}
    play(parse(table), tmp_path / "run")
    rounds = read_rounds(tmp_path / "run")
    found = {
        event.step: (event.wall_time, value.simple_value)
        for event in events(tmp_path / "run" / "tensorboard")
        for value in event.summary.value
        if value.tag == "round/length_s"
    }

    end_s = rounds["start_s"].to_numpy() + rounds["length_s"].to_numpy()
    assert sorted(found) == [0, 1, 2, 3]
    for i in range(4):
        assert found[i][0] == end_s[i]
        assert abs(found[i][1] - rounds["length_s"][i].as_py()) < 1e-6  # stored as float32
