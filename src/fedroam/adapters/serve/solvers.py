"""
Processes that solve, one request at a time each.

Processes, because a solver that takes too long can only be stopped for certain by ending its
process, and because requests must not wait for each other's Python.
"""

import asyncio
import contextlib
import logging
import sys
from collections.abc import Sequence

from fedroam.adapters.serve.question import OURS, refusal
from fedroam.adapters.serve.solver import LENGTH_BYTES, READY, framed
from fedroam.errors import WorkerError

log = logging.getLogger(__name__)

START_S = 600.0
"""To load all kernels; the first start on a machine compiles them."""


class Busy(Exception):
    """Too many requests wait already, or this one has waited too long."""


class Late(Exception):
    """The answer takes longer than the limit."""


class Solvers:
    """``n`` processes; ``ask`` gives a question to one that is idle."""

    def __init__(self, n: int, limit_s: float, most_waiting: int, policies: Sequence[str]) -> None:
        self.n, self.limit_s, self.most_waiting = n, limit_s, most_waiting
        module = "fedroam.adapters.serve.solver"
        self._command = (sys.executable, "-m", module, str(limit_s), *policies)
        self._idle: asyncio.Queue[asyncio.subprocess.Process] = asyncio.Queue()
        self._all: set[asyncio.subprocess.Process] = set()
        self._hiring: set[asyncio.Task[None]] = set()
        self.waiting = 0

    @property
    def n_ready(self) -> int:
        """How many processes can answer, idle or not."""
        return len(self._all)

    @property
    def n_busy(self) -> int:
        """How many of them are solving."""
        return len(self._all) - self._idle.qsize()

    async def start(self) -> None:
        """All processes, with their kernels loaded; WorkerError where one cannot be started."""
        await self._hire()  # alone: at the very first time it compiles what all of them load
        async with asyncio.TaskGroup() as group:
            for _ in range(self.n - 1):
                group.create_task(self._hire())

    async def stop(self) -> None:
        """End all processes."""
        for task in self._hiring:
            task.cancel()
        processes, self._all = self._all, set()
        for process in processes:
            _kill(process)
        for process in processes:
            await process.wait()

    async def ask(self, body: bytes) -> tuple[int, bytes]:
        """
        Status and answer; or Busy, or Late.

        One limit for waiting and one for solving: a process that is given a question late must not
        be ended for the time that the question has waited.
        """
        process = await self._taken()
        is_whole = False
        try:
            async with asyncio.timeout(self.limit_s):
                reply = await self._exchange(process, body)
            is_whole = True
            return int.from_bytes(reply[:2], "big"), reply[2:]
        except TimeoutError:
            raise Late from None
        except (OSError, asyncio.IncompleteReadError):
            log.error("a solver process died with code %s", await process.wait())
            return OURS, refusal("the process that solved this died; the log says more")
        finally:  # also where the service is stopped in the middle
            if is_whole:
                self._idle.put_nowait(process)
            else:
                self._replace(process)

    async def _taken(self) -> asyncio.subprocess.Process:
        if self._idle.empty() and self.waiting >= self.most_waiting:
            raise Busy
        self.waiting += 1
        try:
            async with asyncio.timeout(self.limit_s):
                return await self._idle.get()
        except TimeoutError:
            raise Busy from None
        finally:
            self.waiting -= 1

    async def _exchange(self, process: asyncio.subprocess.Process, body: bytes) -> bytes:
        assert process.stdin
        process.stdin.write(framed(body))
        await process.stdin.drain()
        return await self._heard(process)

    @staticmethod
    async def _heard(process: asyncio.subprocess.Process) -> bytes:
        assert process.stdout
        head = await process.stdout.readexactly(LENGTH_BYTES)
        return await process.stdout.readexactly(int.from_bytes(head, "big"))

    async def _hire(self) -> None:
        process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the service, which then ends them
        )
        try:
            async with asyncio.timeout(START_S):
                is_ready = await self._heard(process) == READY
        except (TimeoutError, OSError, asyncio.IncompleteReadError):
            is_ready = False
        except BaseException:
            _kill(process)
            raise
        if not is_ready:
            _kill(process)
            code = await process.wait()
            raise WorkerError(f"a solver process could not be started (code {code})")
        self._all.add(process)
        self._idle.put_nowait(process)

    def _replace(self, process: asyncio.subprocess.Process) -> None:
        """End a process and start another one in its place, in the background."""
        self._all.discard(process)
        _kill(process)
        task = asyncio.create_task(self._hire_at_last())
        self._hiring.add(task)
        task.add_done_callback(self._hiring.discard)

    async def _hire_at_last(self) -> None:
        while True:
            try:
                return await self._hire()
            except WorkerError as error:
                log.error("%s; trying again", error)
                await asyncio.sleep(1.0)


def _kill(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()
