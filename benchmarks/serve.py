"""
The service under a steady load: problems of 50 x 8 by POST, 100 a second, on loopback.

Load is open: request i is due i / rate seconds after the start, whatever has become of the others,
and its time runs from then until the whole answer is there. So a service that falls behind is
charged for all who wait. Requests are real rounds of the paper's scenario as JSON, over connections
that are kept. Load, service and its two solvers share the machine's cores. A window is bounded in
count and, by each request's own limit, in time.

    python benchmarks/serve.py [--quick]
"""

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import side_by_side

RATE = 100  # requests a second
PROBLEMS, SOLVERS = 200, 2
LIMIT_S = 5.0  # of a request, after which it counts as an error
CONNECTIONS = 200  # more at once are errors, too
SMALL, DEFAULT = 0.05, 1.0
TICKS = os.sysconf("SC_CLK_TCK")


def problems() -> list[dict[str, object]]:
    """Rounds of the paper's scenario in the form of JSON problems."""
    from fedroam.scheduling.interchange import NEEDED
    from fedroam.scheduling.policies.dagsa import Dagsa
    from fedroam.simulation import Scenario, Simulation

    rounds = Simulation(Scenario(), Dagsa(), seed=1).rounds(rounds=PROBLEMS)
    return [
        {name: np.asarray(getattr(played.problem, name)).tolist() for name in NEEDED}
        for played in rounds
    ]


@contextmanager
def service():
    """Port and process number of a service that runs meanwhile."""
    command = [sys.executable, "-m", "fedroam", "serve", "--port", "0", "--workers", str(SOLVERS)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            line = ""
            while not line.startswith("listening"):
                line = process.stderr.readline()
                if not line:
                    raise SystemExit("the service did not start")
            yield int(line.rpartition(":")[2]), process.pid
        finally:
            process.send_signal(signal.SIGINT)


@dataclass(frozen=True)
class Window:
    """What became of so many requests."""

    seconds: list[float]  # of those that were answered, ascending
    errors: int
    late_ms: float  # how far behind its plan the load was at worst
    gap: float  # median of the answers'

    def within_s(self, part: float) -> float:
        """The time within which this part of all requests was answered; an error took the limit."""
        return float(np.quantile([*self.seconds, *[LIMIT_S] * self.errors], part, method="higher"))


async def load(port: int, bodies: list[bytes], n: int) -> Window:
    """``n`` requests at the fixed rate."""
    idle: deque[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = deque()
    seconds, gaps, late_s, loop = [], [], [], asyncio.get_running_loop()
    errors = is_open = 0

    async def one(body: bytes, due_s: float) -> None:
        nonlocal errors, is_open
        is_open, line = is_open + 1, None
        try:
            if is_open > CONNECTIONS:
                raise ConnectionError("too many at once")
            async with asyncio.timeout_at(due_s + LIMIT_S):
                while idle and idle[0][0].at_eof():  # the service ends those that idle for long
                    idle.popleft()[1].close()
                line = idle.pop() if idle else await asyncio.open_connection("127.0.0.1", port)
                status, answer = await exchange(line, body)
            if status != 200:
                raise ConnectionError(f"status {status}")
            idle.append(line)
            seconds.append(loop.time() - due_s)
            gaps.append(json.loads(answer)["gap"])
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            errors += 1
            if line:
                line[1].close()
        finally:
            is_open -= 1

    start_s = loop.time() + 0.1
    async with asyncio.TaskGroup() as group:
        for i in range(n):
            due_s = start_s + i / RATE
            await asyncio.sleep(max(0.0, due_s - loop.time()))
            late_s.append(loop.time() - due_s)
            group.create_task(one(bodies[i % len(bodies)], due_s))
    for _, writer in idle:
        writer.close()
    return Window(sorted(seconds), errors, 1e3 * max(late_s), float(np.median(gaps or [np.nan])))


async def exchange(
    line: tuple[asyncio.StreamReader, asyncio.StreamWriter], body: bytes
) -> tuple[int, bytes]:
    """Status and body of the answer to a POST."""
    reader, writer = line
    head = f"POST /solve HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    lines = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
    length = next(int(x.split(b":")[1]) for x in lines if x.startswith(b"content-length"))
    return int(lines[0].split()[1]), await reader.readexactly(length)


def family_s(pid: int) -> float:
    """Processor seconds that the service and its solvers have used so far."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    fields = [
        Path(f"/proc/{p}/stat").read_text().rpartition(")")[2].split() for p in [pid, *children]
    ]
    return sum(int(f[11]) + int(f[12]) for f in fields) / TICKS


def measure(port: int, pid: int, effort: float, n: int, windows: int) -> dict[str, object]:
    posed = [
        {"problem": p, "policy": "certified", "options": {"effort": effort}} for p in problems()
    ]
    bodies = [json.dumps(values).encode() for values in posed]
    asyncio.run(load(port, bodies, RATE))  # a second, not counted
    cpu_s = family_s(pid)
    found = [asyncio.run(load(port, bodies, n)) for _ in range(windows)]
    cpu_ms = 1e3 * (family_s(pid) - cpu_s) / n / windows
    pooled = np.concatenate([w.seconds for w in found])
    return {
        "effort": effort,
        "requests": n * windows,
        "errors": sum(w.errors for w in found),
        "p50_s": [w.within_s(0.5) for w in found],
        "p99_s": [w.within_s(0.99) for w in found],
        "all_p99_ms": 1e3 * float(np.quantile(pooled, 0.99)),
        "all_max_ms": 1e3 * float(pooled.max()),
        "load_late_ms": max(w.late_ms for w in found),
        "service_cpu_ms": cpu_ms,
        "median_gap": found[0].gap,
        "body_bytes": max(map(len, bodies)),
    }


def rows_of(found: dict[str, object], target: str) -> list[side_by_side.Row]:
    what = f"a request, effort {found['effort']:g}, {RATE}/s"
    note = f"{found['service_cpu_ms']:.1f} ms of processor a request; gap {found['median_gap']:.3f}"
    worst = (
        f"{found['errors']} errors in {found['requests']:,}; of all {found['all_p99_ms']:.1f} ms, "
        f"the longest {found['all_max_ms']:.0f} ms"
    )
    return [
        side_by_side.row(what, "p50 of a window", found["p50_s"], "", note),
        side_by_side.row(what, "p99 of a window", found["p99_s"], target, worst),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    n, windows = (5 * RATE, 1) if given.quick else (20 * RATE, 4)
    before, rows, details = side_by_side.machine(), [], []
    start_s = time.perf_counter()
    with service() as (port, pid):
        ready_s = time.perf_counter() - start_s
        for effort, target in ((SMALL, "p99 <= 20 ms"), (DEFAULT, "")):
            details.append(measure(port, pid, effort, n, windows))
            rows += rows_of(details[-1], target)
    rows.append(side_by_side.row("from the command until it listens", "2 solvers", [ready_s]))
    extra = {"runs": details}
    side_by_side.report("serve", rows, before=before, extra=extra, is_kept=not given.quick)


if __name__ == "__main__":
    main()
