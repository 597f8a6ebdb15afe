"""The service: right answers, limits that hold, no bad input that it fails at."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import numpy as np
import pytest
import schemathesis
from hypothesis import given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from fedroam.adapters.serve.openapi import ANSWER, EXAMPLE, HEALTH, PROBLEM, document
from fedroam.adapters.serve.question import Question
from fedroam.scheduling.interchange import NAMES, NEEDED, problem_from, write_problem
from fedroam.scheduling.judge import judge
from fedroam.scheduling.policies import POLICIES
from fedroam.scheduling.problem import Schedule
from strategies import problems

SLOW = """
import os, time
from fedroam.scheduling.policies.best_station import All

class Sleeper:
    def __call__(self, problem, rng):
        time.sleep(60)

class Crasher:
    def __call__(self, problem, rng):
        os._exit(7)

class Printer:
    def __call__(self, problem, rng):
        print("hello")
        return All()(problem, rng)

class Raiser:
    def __call__(self, problem, rng):
        raise KeyError("no such thing")
"""
OWN = [f"tiresome:{name}" for name in ("Sleeper", "Crasher", "Printer", "Raiser")]


@contextmanager
def service(folder, *options):
    """A service in a process of its own, at a free port; ends with Ctrl-C, cleanly."""
    (folder / "tiresome.py").write_text(SLOW)
    command = [sys.executable, "-m", "fedroam", "serve", "--port", "0", *map(str, options)]
    process = subprocess.Popen(
        command, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert "solvers" in process.stderr.readline()
        line = process.stderr.readline()
        assert line.startswith("listening on http://127.0.0.1:"), line + process.stderr.read()
        with httpx.Client(base_url=line.split()[-1], timeout=60) as client:
            yield client, process
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        assert process.returncode in (130, -signal.SIGINT)
        assert out == ""
        assert "Traceback" not in err
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A service with two solvers."""
    with service(tmp_path_factory.mktemp("service"), "--workers", 2) as (client, _):
        yield client


@pytest.fixture(scope="module")
def strained(tmp_path_factory):
    """A service with tight limits and policies that misbehave."""
    folder = tmp_path_factory.mktemp("strained")
    limits = ["--workers", 1, "--time-limit", 1.5, "--max-mb", 0.01, "--max-waiting", 1]
    own = [word for name in OWN for word in ("--policy", name)]
    with service(folder, *limits, *own) as found:
        yield found


def posed(problem, **fields):
    """A request as other programs write it."""
    values = {}
    for name in NAMES:
        value = np.asarray(getattr(problem, name))
        if value.size or name in NEEDED:
            listed = value.tolist()
            is_loss = name == "last_loss"
            values[name] = [None if x != x else x for x in listed] if is_loss else listed
    return {"problem": values, **fields}


@settings(max_examples=25)
@given(problem=problems(), policy=st.sampled_from(sorted(set(POLICIES) - {"exact"})))
def test_answers_are_those_of_the_library(client, problem, policy):
    """The schedule is feasible, lasts as long as it says, and is what the library answers."""
    reply = client.post("/solve", json=posed(problem, policy=policy, options={}, seed=3))
    if reply.status_code == 422:
        assert "users" in reply.json()["error"]  # nobody can be lawful
        return
    assert reply.status_code == 200, reply.text
    found = reply.json()
    # How long an empty round lasts is not in the lists.
    verdict = judge(problem, Schedule(**found["schedule"], if_empty_s=found["round_s"]))
    assert verdict.round_s == found["round_s"]
    assert verdict.n_selected == found["selected"]
    assert verdict.is_lawful == found["is_lawful"]
    if verdict.is_lawful:
        assert found["bound_s"] <= found["round_s"]


def test_it_answers_as_the_command_line_does(client, tmp_path, fedroam):
    """The same bits, the same names."""
    problem = problem_from(EXAMPLE["problem"])
    write_problem(problem, tmp_path / "p.json")
    done = fedroam("solve", "p.json", "--policy", "certified", "--json", "--seed", 5)
    told, reply = json.loads(done.out), client.post("/solve", json=posed(problem, seed=5)).json()
    del told["wall_s"], reply["wall_s"]
    assert told == reply


DESCRIBED = document(tuple(POLICIES), 10.0, 16 << 20)
OPERATIONS = schemathesis.openapi.from_dict(DESCRIBED)


@pytest.mark.parametrize(
    ("path", "verb", "mode", "n"),
    [
        ("/solve", "POST", GenerationMode.POSITIVE, 100),
        ("/solve", "POST", GenerationMode.NEGATIVE, 100),
        ("/health", "GET", GenerationMode.POSITIVE, 2),
        ("/metrics", "GET", GenerationMode.POSITIVE, 2),
    ],
)
def test_it_is_what_its_description_says(client, path, verb, mode, n):
    """Any request, fitting the description or not: no 5xx, no hang, answers as described."""

    @settings(max_examples=n)
    @given(case=OPERATIONS[path][verb].as_strategy(generation_mode=mode))
    def play(case):
        # Values that fit each for itself may contradict each other (a link to a station too many).
        case.call_and_validate(
            base_url=str(client.base_url),
            timeout=30,
            excluded_checks=[positive_data_acceptance],
        )

    play()


def test_the_description_can_be_fetched(client):
    """It is the one that the tests hold it to."""
    assert client.get("/openapi.json").json() == DESCRIBED


WEIRD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.sampled_from([0, -1, 1e308, 5e-324, 2**63, 2**64, 10**400, "", "nan", [], {}, [[]], [None]]),
)


@st.composite
def damaged_requests(draw):
    """A good request with one to three values put wrong, anywhere in it."""
    policy = draw(st.sampled_from(sorted(POLICIES)))
    request = posed(draw(problems(max_users=6)), policy=policy, options={}, seed=0)
    request["time_limit_s"] = 1.0 if policy in ("exact", "certified") else None
    for _ in range(draw(st.integers(1, 3))):
        here, key = request, draw(st.sampled_from(sorted(request)))
        while isinstance(here[key], (dict, list)) and here[key] and draw(st.booleans()):
            here = here[key]
            key = draw(
                st.sampled_from(sorted(here))
                if isinstance(here, dict)
                else st.integers(0, len(here) - 1)
            )
        here[key] = draw(WEIRD)
    return request


@settings(max_examples=200)
@given(request=damaged_requests())
def test_damaged_requests_are_refused_or_answered(client, request):
    """No 5xx, no hang; one line says what is wrong; what is answered is feasible."""
    reply = client.post("/solve", content=json.dumps(request))
    assert reply.status_code in (200, 400, 422), (request, reply.text)
    if reply.status_code == 200:
        Judged(request["problem"], reply.json())
    else:
        assert list(reply.json()) == ["error"]
        assert "\n" not in reply.json()["error"]


class Judged:
    """An answer that the judge has looked at."""

    def __init__(self, values, found):
        loss = values.get("last_loss")
        if isinstance(loss, list):
            values = values | {"last_loss": [np.nan if x is None else x for x in loss]}
        schedule = Schedule(**found["schedule"], if_empty_s=found["round_s"])
        assert judge(problem_from(values), schedule).round_s == found["round_s"]


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"", 400, "the request is not JSON"),
        (b"\xff", 400, "the request is not JSON"),
        (b"[" * 100_000, 400, "the request is not JSON"),
        (b"[]", 400, "the request is a list, expected an object"),
        (b'{"seed": 1, "seed": 2}', 422, "seed is given twice"),
        (b"{}", 422, "problem is missing"),
        (b'{"problem": 3}', 422, "problem is a int, expected an object"),
        (b'{"problem": {}}', 422, "problem.indptr is missing"),
        ({"problm": {}}, 422, "problm: no such field of a request; did you mean 'problem'?"),
        ({"policy": "certifed"}, 422, "did you mean 'certified'?"),
        ({"policy": "os:system"}, 422, "policy: no 'os:system'; known: all, certified"),
        ({"options": {"efort": 1}}, 422, "efort: no such option of 'certified'"),
        ({"options": {"effort": "much"}}, 422, "effort is 'much', expected a number"),
        ({"options": []}, 422, "options is [], expected an object"),
        ({"seed": -1}, 422, "seed is -1, expected 0..2^63 - 1"),
        ({"seed": 1.5}, 422, "seed is 1.5, expected a whole number"),
        ({"time_limit_s": 1e9}, 422, "expected at most the service's, 10 s"),
        (
            {"policy": "dagsa", "options": {}, "time_limit_s": 1},
            422,
            "policy 'dagsa' takes no time limit",
        ),
        ({"certify": "maybe"}, 422, "certify: no 'maybe'"),
    ],
)
def test_mistakes_get_one_line(client, body, status, message):
    """The field, the value, what was expected."""
    if isinstance(body, dict):
        body = json.dumps(EXAMPLE | body)
    reply = client.post("/solve", content=body)
    assert reply.status_code == status
    assert message in reply.json()["error"]


def test_other_addresses_and_verbs_are_refused(client):
    """In the same form."""
    assert client.get("/nothing").json() == {"error": "GET /nothing: not found"}
    reply = client.get("/solve")
    assert (reply.status_code, reply.headers["allow"]) == (405, "POST")


def test_health_and_metrics_tell_what_happens(client):
    """Counted by status; the solvers that are there."""
    before = metric(client, 'fedroam_requests_total{status="200"}')
    assert client.post("/solve", json=EXAMPLE).status_code == 200
    assert metric(client, 'fedroam_requests_total{status="200"}') == before + 1
    assert metric(client, "fedroam_ready") == 2
    assert metric(client, "fedroam_request_seconds_count") > before
    assert client.get("/health").json() == {"ready": 2, "busy": 0, "waiting": 0}


def metric(client, name):
    """The value of one line of the metrics."""
    found = re.search(rf"^{re.escape(name)} (\S+)$", client.get("/metrics").text, re.M)
    return float(found[1]) if found else 0.0


def test_a_solver_that_takes_too_long_is_stopped_and_replaced(strained):
    """504 after the limit; others wait, too many are turned away; then all is as before."""
    client, _ = strained
    lazy = json.dumps(EXAMPLE | {"policy": "tiresome:Sleeper", "options": {}})
    with ThreadPoolExecutor(3) as pool:
        sent = []
        for _ in range(3):  # one is solved, one waits, one is too many
            sent.append(pool.submit(client.post, "/solve", content=lazy))
            time.sleep(0.3)
        replies = [one.result() for one in sent]
    assert [reply.status_code for reply in replies] == [504, 503, 503]
    assert replies[2].headers["retry-after"] == "1"
    assert "no answer within 1.5 s" in replies[0].json()["error"]
    assert answered_at_last(client)


def test_a_solver_that_dies_is_replaced(strained):
    """That request gets a 500, which says so; the next ones are answered."""
    client, _ = strained
    assert answered_at_last(client)
    reply = client.post("/solve", json=EXAMPLE | {"policy": "tiresome:Crasher", "options": {}})
    assert (reply.status_code, "died" in reply.text) == (500, True)
    assert answered_at_last(client)


def answered_at_last(client):
    """A good request is answered, once a new solver is there."""
    for _ in range(100):
        status = client.post("/solve", json=EXAMPLE).status_code
        if status == 200:
            return client.get("/health").json()["ready"] == 1
        assert status == 503
        time.sleep(0.2)
    return False


def test_policies_of_others_may_print_and_raise(strained):
    """Prints go to the log, exceptions become one line."""
    client, _ = strained
    assert answered_at_last(client)
    printer = EXAMPLE | {"policy": "tiresome:Printer", "options": {}}
    assert client.post("/solve", json=printer).json()["selected"] == 3
    raiser = client.post("/solve", json=EXAMPLE | {"policy": "tiresome:Raiser", "options": {}})
    assert raiser.status_code == 422
    assert "policy Raiser raised KeyError: 'no such thing' (tiresome.py:" in raiser.json()["error"]


def test_what_is_too_large_or_too_slow_to_arrive_is_refused(strained):
    """413 by the header or by what arrives; 408 where the rest does not come."""
    client, _ = strained
    assert client.post("/solve", content=b" " * 20_000).status_code == 413
    pieces = (b" " * 1_000 for _ in range(20))
    assert client.post("/solve", content=pieces).status_code == 413
    with socket.create_connection((client.base_url.host, client.base_url.port), 20) as raw:
        raw.sendall(b"POST /solve HTTP/1.1\r\nHost: here\r\nContent-Length: 100\r\n\r\n{")
        assert raw.recv(1000).startswith(b"HTTP/1.1 408")


def test_no_solver_outlives_its_service(tmp_path):
    """Also where the service is killed and cannot say goodbye."""
    (tmp_path / "tiresome.py").write_text(SLOW)
    command = [sys.executable, "-m", "fedroam", "serve", "--port", "0", "--workers", "1"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        process.stderr.readline(), process.stderr.readline()
        path = f"/proc/{process.pid}/task/{process.pid}/children"
        with open(path) as children:
            solver = int(children.read().split()[0])
        process.kill()
    for _ in range(100):
        if not os.path.exists(f"/proc/{solver}"):
            return
        time.sleep(0.1)
    raise AssertionError("the solver is still there")


def test_the_description_names_every_field():
    """Fields of a problem, of a request and their defaults are those of the code."""
    body = document(tuple(POLICIES), 10.0, 100)["paths"]["/solve"]["post"]["requestBody"]
    fields = body["content"]["application/json"]["schema"]["properties"]
    assert list(PROBLEM["properties"]) == list(NAMES)
    assert PROBLEM["required"] == list(NEEDED)
    assert set(fields) == {"problem", *Question.__dataclass_fields__}
    assert fields["policy"]["default"] == Question().policy
    assert fields["certify"]["default"] == Question().certify
    assert set(ANSWER["required"]) < set(ANSWER["properties"])
    assert set(HEALTH["required"]) == set(HEALTH["properties"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--host", "no such host"], "host is 'no such host', expected a name or address"),
        (["--host", "203.0.113.1"], "cannot listen at 203.0.113.1, port 8642: cannot assign"),
        (["--port", "70000"], "port is 70000, expected 0..65535"),
        (["--workers", "0"], "workers is 0, expected >= 1"),
        (["--time-limit", "0"], "time_limit is 0.0, expected seconds > 0"),
        (["--max-mb", "nan"], "max_mb is nan, expected > 0"),
        (["--max-waiting", "-1"], "max_waiting is -1, expected >= 0"),
        (["--policy", "nowhere:Policy"], "policy: cannot load 'nowhere:Policy'"),
    ],
)
def test_bad_options_are_told_in_one_line(fedroam, options, message):
    """And exit with 2."""
    done = fedroam("serve", *options)
    assert done.code == 2
    assert message in done.err.splitlines()[-1]


def test_a_port_that_is_taken_is_told_in_one_line(fedroam):
    """With what to do."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = fedroam("serve", "--port", port)
    assert done.code == 2
    assert done.err == (
        f"fedroam: cannot listen at 127.0.0.1, port {port}: address already in use "
        "(--port 0 takes any free one)\n"
    )
