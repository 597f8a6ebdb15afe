"""
A solver process: questions come in on stdin, answers go out on stdout, both in frames.

A frame is its length in 4 bytes, then that many bytes. The first frame out says that it is ready:
every kernel that answers need is then loaded. It ends when stdin does, so none outlives its
service, however that ended.
"""

import os
import sys
from typing import BinaryIO

from fedroam.adapters.serve.question import reply_to
from fedroam.runs.answering import answer, make_policy
from fedroam.simulation import Scenario, Simulation, World

LENGTH_BYTES = 4
READY = b"ready"


def framed(data: bytes) -> bytes:
    """``data`` as a frame."""
    return len(data).to_bytes(LENGTH_BYTES, "big") + data


def main() -> None:
    """Answer until stdin ends."""
    limit_s, policies = float(sys.argv[1]), sys.argv[2:]
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whoever prints must not break the frames
    _warm(policies)
    _send(out, READY)
    while (body := _frame(sys.stdin.buffer)) is not None:
        status, reply = reply_to(body, limit_s, policies)
        _send(out, status.to_bytes(2, "big") + reply)


def _warm(policies: list[str]) -> None:
    """Load (at the very first time: compile) what answers need."""
    policy = make_policy("dagsa", {}, None)
    problem = next(Simulation(Scenario(World(12, 3)), policy).rounds(rounds=1)).problem
    for name in ("dagsa", "certified"):
        if name in policies:
            answer(problem, make_policy(name, {}, None), seed=0, level="prices")


def _frame(stream: BinaryIO) -> bytes | None:
    """The next frame, or None at the end."""
    head = stream.read(LENGTH_BYTES)
    return stream.read(int.from_bytes(head, "big")) if len(head) == LENGTH_BYTES else None


def _send(stream: BinaryIO, data: bytes) -> None:
    stream.write(framed(data))
    stream.flush()


if __name__ == "__main__":
    main()
