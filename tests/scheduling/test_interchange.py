"""Problem files: round trips, and a clear word on every malformed one."""

import json
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from fedroam.errors import ConfigError, StorageError
from fedroam.scheduling.interchange import NEEDED, problem_from, read_problem, write_problem
from strategies import problems, same_arrays

EXAMPLE = {
    "indptr": [0, 2, 3],
    "station": [0, 1, 1],
    "efficiency": [1.0, 2.0, 3.0],
    "compute_s": [0.1, 0.2],
    "capacity_hz": [1e6, 2e6],
    "payload_bit": 7e5,
    "required": [True, False],
    "min_selected": 1,
}


def write_npz(path, values):
    """A file as another program would write it."""
    np.savez(path, **{name: np.asarray(value) for name, value in values.items()})
    return path


def write_json(path, values):
    """The same in JSON."""
    path.write_text(json.dumps(values))
    return path


@pytest.mark.parametrize("ending", ["npz", "json"])
@given(problem=problems())
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read_back_bit_for_bit(tmp_path, ending, problem):
    """Both formats keep every bit of every field."""
    path = tmp_path / f"problem.{ending}"
    write_problem(problem, path)

    same_arrays(read_problem(path), problem)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", ["npz", "json"])
def test_the_past_is_kept_with_its_gaps(tmp_path, ending):
    """A loss that is unknown is nan in memory and null in JSON."""
    past = {
        "round": 7,
        "times_selected": [3, 0],
        "last_round": [6, -1],
        "last_loss": [0.5, np.nan],
        "samples": [600, 0],
    }
    problem = problem_from(EXAMPLE | past)
    write_problem(problem, tmp_path / f"deep/er/p.{ending}")
    again = read_problem(tmp_path / f"deep/er/p.{ending}")

    same_arrays(again, problem)
    assert again.round == 7
    np.testing.assert_array_equal(again.last_loss, [0.5, np.nan])


@pytest.mark.parametrize("write", [write_npz, write_json])
def test_the_past_may_be_left_out_and_one_payload_stands_for_all(tmp_path, write):
    """The needed names alone make a problem."""
    problem = read_problem(write(tmp_path / f"p.{write.__name__[6:]}", EXAMPLE))

    assert problem.payload_bit.tolist() == [7e5, 7e5]
    assert problem.last_round.tolist() == [-1, -1]
    assert problem.round == 0


def test_other_byte_orders_and_smaller_types_are_read(tmp_path):
    """What loses nothing is converted: big-endian doubles, 16-bit stations."""
    path = write_npz(
        tmp_path / "p.npz",
        EXAMPLE
        | {
            "efficiency": np.array([1.0, 2.0, 3.0], ">f8"),
            "station": np.array([0, 1, 1], np.uint16),
            "compute_s": np.array([0.5, 0.25], np.float32),
        },
    )
    problem = read_problem(path)

    assert problem.efficiency.tolist() == [1.0, 2.0, 3.0]
    assert problem.efficiency.dtype == np.float64
    assert problem.station.dtype == np.int32
    assert problem.compute_s.tolist() == [0.5, 0.25]


WRONG = {
    "unknown field": ({"capacity": [1.0]}, "capacity: no such field .* did you mean 'capacity_hz'"),
    "unsorted links": ({"station": [1, 0, 1]}, r"station\[1\] is 0, expected ascending"),
    "duplicate links": ({"station": [1, 1, 1]}, r"station\[1\] is 1, expected ascending"),
    "negative capacity": ({"capacity_hz": [1e6, -1.0]}, r"capacity_hz\[1\] is -1\.0"),
    "zero capacity": ({"capacity_hz": [0.0, 1.0]}, r"capacity_hz\[0\] is 0\.0"),
    "shape": ({"compute_s": [0.1]}, r"compute_s has shape \(1,\), expected 2"),
    "matrix": ({"efficiency": [[1.0, 2.0, 3.0]]}, r"efficiency has shape \(1, 3\), expected 3"),
    "nan": ({"efficiency": [1.0, np.nan, 1.0]}, r"efficiency\[1\] is nan"),
    "infinity": ({"compute_s": [np.inf, 0.0]}, r"compute_s\[0\] is inf"),
    "real stations": ({"station": [0.0, 1.0, 1.0]}, "station holds float64, expected int32"),
    "station wraps": ({"station": [0, 2**32 + 1, 1]}, "station holds 4294967297, too large"),
    "text": ({"compute_s": ["a", "b"]}, "compute_s holds <U1, expected numbers"),
    "required as numbers": ({"required": [0, 1]}, "required holds int64, expected bool"),
    "min_selected as list": ({"min_selected": [1]}, r"min_selected is \[1\], expected one whole"),
    "min_selected real": ({"min_selected": 1.0}, r"min_selected is 1\.0, expected one whole numb"),
    "min_selected bool": ({"min_selected": True}, "min_selected is True, expected one whole numb"),
    "round real": ({"round": 1.5}, r"round is 1\.5, expected one whole number"),
    "empty past": ({"samples": []}, "samples is empty, expected one number a user"),
    "required out of reach": (
        {"indptr": [0, 3, 3], "station": [0, 1, 2], "capacity_hz": [1.0] * 3}
        | {"required": [False, True]},
        r"required\[1\] is True, .*no station is within this user's reach",
    ),
}


@pytest.mark.parametrize("write", [write_npz, write_json])
@pytest.mark.parametrize("flaw", WRONG)
def test_a_malformed_problem_is_refused_with_its_file_and_field(tmp_path, write, flaw):
    """The message has the file, the field, the value and what was expected."""
    changes, message = WRONG[flaw]
    path = write(tmp_path / f"p.{write.__name__[6:]}", EXAMPLE | changes)

    with pytest.raises(ConfigError, match=f"{path}: .*{message}"):
        read_problem(path)


@pytest.mark.parametrize("write", [write_npz, write_json])
@pytest.mark.parametrize("name", NEEDED)
def test_a_missing_field_is_named(tmp_path, write, name):
    """Everything before the past is needed."""
    values = {key: value for key, value in EXAMPLE.items() if key != name}
    path = write(tmp_path / f"p.{write.__name__[6:]}", values)

    with pytest.raises(ConfigError, match=f"{path}: {name} is missing; a problem needs"):
        read_problem(path)


def truncated_zip(path):
    """The first half of a good file."""
    write_npz(path, EXAMPLE)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def damaged_member(path):
    """A compressed member with wrong bytes in its middle."""
    rng = np.random.default_rng(0)
    np.savez_compressed(path, indptr=rng.random(2000))
    blob = bytearray(path.read_bytes())
    for i in range(200, 1500):
        blob[i] ^= 0x5A
    path.write_bytes(bytes(blob))


def pickled_objects(path):
    """An array of objects, which only pickle could read."""
    values = {k: np.asarray(v) for k, v in EXAMPLE.items()}
    np.savez(path, **(values | {"efficiency": np.array([1.0, {"a": 1}, None], object)}))


def plain_array(path):
    """A ``.npy`` under the wrong name."""
    with path.open("wb") as file:
        np.save(file, np.zeros(3))


def twice_in_the_zip(path):
    """Two members of one name."""
    write_npz(path, EXAMPLE)
    with zipfile.ZipFile(path) as archive:
        data = archive.read("compute_s.npy")
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("compute_s.npy", data)


def endless_header(path):
    """A member whose header promises 10^15 numbers."""
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000,), }"
    header = header.ljust(117) + b"\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "indptr.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
        )


def no_array(path):
    """A member that is no array at all."""
    write_npz(path, {k: v for k, v in EXAMPLE.items() if k != "indptr"})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("indptr.npy", b"hello")


UNREADABLE = {
    "empty": (lambda path: path.write_bytes(b""), "is not a problem file"),
    "text": (lambda path: path.write_text("hello"), "is not a problem file"),
    "truncated zip": (truncated_zip, "is not a problem file"),
    "damaged member": (damaged_member, "is not a problem file"),
    "pickled objects": (pickled_objects, "Object arrays cannot be loaded"),
    "one array": (plain_array, "holds one array, expected a .npz with named arrays"),
    "name twice": (twice_in_the_zip, "compute_s is given twice"),
    "endless header": (endless_header, "is not a problem file"),
    "no array": (no_array, "(is not a problem file|expected numbers)"),
    "a folder": (lambda path: path.mkdir(), "is a folder, expected a problem file"),
    "nothing": (lambda path: None, "there is no file"),
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_an_unreadable_npz_is_refused(tmp_path, kind):
    """One clear error with the file's name, whatever the reader of the format raises."""
    write, message = UNREADABLE[kind]
    write(path := tmp_path / "p.npz")

    with pytest.raises(ConfigError, match=message) as refusal:
        read_problem(path)
    assert str(path) in str(refusal.value)
    assert "\n" not in str(refusal.value)


UNREADABLE_JSON = {
    "empty": ("", "is not a problem file"),
    "broken": ('{"indptr": [0, 1', "is not a problem file"),
    "a list": ("[1, 2]", "holds a list, expected an object"),
    "key twice": ('{"indptr": [0], "indptr": [0]}', "indptr is given twice"),
    "ragged": (json.dumps(EXAMPLE | {"compute_s": [[1], [1, 2]]}), "compute_s has rows of diff"),
    "null": (json.dumps(EXAMPLE | {"compute_s": [None, 1]}), "compute_s holds object, expected nu"),
    "huge integer": (json.dumps(EXAMPLE | {"compute_s": [10**400, 1]}), "compute_s holds object"),
    "nested without end": ('{"indptr": ' + "[" * 200_000, "is not a problem file"),
    "an object": (json.dumps(EXAMPLE | {"compute_s": {"a": 1}}), "compute_s holds object"),
}


@pytest.mark.parametrize("kind", UNREADABLE_JSON)
def test_an_unreadable_json_is_refused(tmp_path, kind):
    """One clear error with the file's name."""
    text, message = UNREADABLE_JSON[kind]
    path = tmp_path / "p.json"
    path.write_text(text)

    with pytest.raises(ConfigError, match=message) as refusal:
        read_problem(path)
    assert str(path) in str(refusal.value)


def test_json_of_another_encoding_is_refused(tmp_path):
    """Bytes that are not UTF-8 are not a problem file."""
    path = tmp_path / "p.json"
    path.write_bytes(b'{"caf\xe9": 1}')

    with pytest.raises(ConfigError, match="is not a problem file"):
        read_problem(path)


def test_a_file_that_cannot_be_written_is_told_and_leaves_nothing(tmp_path):
    """A path below a file is no folder; nothing is left aside."""
    (tmp_path / "file").write_text("")

    with pytest.raises(StorageError, match="cannot be written"):
        write_problem(problem_from(EXAMPLE), tmp_path / "file" / "p.npz")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
