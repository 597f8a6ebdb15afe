"""The service's HTTP face: ``POST /solve``, ``GET /health``, ``/metrics``, ``/openapi.json``."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from fedroam.adapters.serve.openapi import document
from fedroam.adapters.serve.question import refusal
from fedroam.adapters.serve.solvers import Busy, Late, Solvers

JSON = "application/json"
BUCKETS_S = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)


class Metrics:
    """What operators watch, in the form of Prometheus; a registry of its own."""

    def __init__(self, solvers: Solvers) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "fedroam_requests", "Requests to solve, by status", ["status"], registry=self.registry
        )
        self.seconds = Histogram(
            "fedroam_request_seconds",
            "From the request to its answer",
            buckets=BUCKETS_S,
            registry=self.registry,
        )
        gauges = {
            "fedroam_waiting": ("Requests that wait for a solver", lambda: solvers.waiting),
            "fedroam_busy": ("Solver processes at work", lambda: solvers.n_busy),
            "fedroam_ready": ("Solver processes that run", lambda: solvers.n_ready),
        }
        for name, (what, value) in gauges.items():
            Gauge(name, what, registry=self.registry).set_function(value)


def make_app(solvers: Solvers, largest_bytes: int, policies: tuple[str, ...]) -> Starlette:
    """The application; its end is the solvers' end."""
    metrics = Metrics(solvers)
    described = json.dumps(document(policies, solvers.limit_s, largest_bytes)).encode()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        del app
        yield
        await solvers.stop()

    async def solve(request: Request) -> Response:
        before_s = time.perf_counter()
        status, body = await _answer(request, solvers, largest_bytes)
        metrics.requests.labels(str(status)).inc()
        metrics.seconds.observe(time.perf_counter() - before_s)
        headers = {"Retry-After": "1"} if status == 503 else None
        return Response(body, status, headers, JSON)

    async def health(request: Request) -> Response:
        del request
        status = 200 if solvers.n_ready else 503
        told = {"ready": solvers.n_ready, "busy": solvers.n_busy, "waiting": solvers.waiting}
        return JSONResponse(told, status)

    async def watch(request: Request) -> Response:
        del request
        return Response(generate_latest(metrics.registry), media_type="text/plain; version=0.0.4")

    async def describe(request: Request) -> Response:
        del request
        return Response(described, media_type=JSON)

    return Starlette(
        routes=[
            Route("/solve", solve, methods=["POST"]),
            Route("/health", health),
            Route("/metrics", watch),
            Route("/openapi.json", describe),
        ],
        lifespan=lifespan,
        exception_handlers={HTTPException: _refuse},
    )


async def _answer(request: Request, solvers: Solvers, largest_bytes: int) -> tuple[int, bytes]:
    try:
        async with asyncio.timeout(solvers.limit_s):
            body = await _body(request, largest_bytes)
    except TimeoutError:
        return 408, refusal("the request did not arrive in time")
    except ClientDisconnect:
        return 400, refusal("the request broke off")  # which nobody will read
    if body is None:
        return 413, refusal(f"the request is too large, expected at most {largest_bytes} bytes")
    try:
        return await solvers.ask(body)
    except Busy:
        return 503, refusal("all solvers are busy; try again later")
    except Late:
        return 504, refusal(
            f"no answer within {solvers.limit_s:g} s; give less effort, or a time_limit_s"
        )


async def _body(request: Request, largest_bytes: int) -> bytes | None:
    """The body, or None where it is too large; no more of it is read than that."""
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length) > largest_bytes:
        return None
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > largest_bytes:
            return None
    return bytes(body)


async def _refuse(request: Request, error: Exception) -> Response:
    """404 and 405 in the form of all refusals."""
    assert isinstance(error, HTTPException)
    line = f"{request.method} {request.url.path}: {error.detail.lower()}"
    return Response(refusal(line), error.status_code, error.headers, JSON)
