"""From the bytes of a request to the bytes of an answer: what runs in the solver processes."""

import json
import logging
from collections.abc import Collection
from dataclasses import dataclass, field, fields
from typing import Any, get_type_hints

import msgspec
import numpy as np

from fedroam.errors import ConfigError, FedroamError, StorageError, WorkerError, nearest, require
from fedroam.runs.answering import answer, checked_level, make_policy, takes_time_limit
from fedroam.scheduling.interchange import UNREADABLE, from_json, problem_from, with_unknown_losses

OK, NO_JSON, WRONG, OURS = 200, 400, 422, 500

SPARE = 0.8
"""The part of the service's limit that a solver takes where the request names none."""


@dataclass(frozen=True)
class Question:
    """What a request holds beside the problem."""

    policy: str = "certified"
    options: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    time_limit_s: float | None = None
    certify: str = "prices"


_KINDS = {"policy": "a name", "options": "an object", "seed": "a whole number"}
_KINDS |= {"time_limit_s": "seconds", "certify": "a name"}


def reply_to(body: bytes, limit_s: float, policies: Collection[str]) -> tuple[int, bytes]:
    """Status and JSON; every mistake in ``body`` is told in one line."""
    try:
        return OK, _solved(_values(body), limit_s, policies)
    except _NoJson as error:
        return NO_JSON, refusal(str(error))
    except (StorageError, WorkerError) as error:
        return OURS, refusal(str(error))
    except FedroamError as error:
        return WRONG, refusal(str(error))
    except MemoryError:
        return WRONG, refusal("problem: does not fit into memory")
    except Exception:
        logging.getLogger(__name__).exception("a request failed")
        return OURS, refusal("the service failed; its log says why")


def refusal(message: str) -> bytes:
    """The body of every answer that is no schedule: one line."""
    line = " ".join(message.split())
    return json.dumps({"error": line if len(line) <= 1000 else f"{line[:997]}..."}).encode()


class _NoJson(Exception):
    """The body is no JSON object."""


def _values(body: bytes) -> dict[str, Any]:
    try:
        values = from_json(body.decode())
    except ConfigError:  # a name twice
        raise
    except UNREADABLE as error:
        raise _NoJson(f"the request is not JSON: {error}") from error
    if not isinstance(values, dict):
        raise _NoJson(f"the request is a {type(values).__name__}, expected an object")
    return values


def _solved(values: dict[str, Any], limit_s: float, policies: Collection[str]) -> bytes:
    names = ("problem", *(f.name for f in fields(Question)))
    for name in values:
        if name not in names:
            raise ConfigError(f"{name}: no such field of a request; {nearest(name, names)}")
    posed = values.get("problem")
    if not isinstance(posed, dict):
        what = "missing" if "problem" not in values else f"a {type(posed).__name__}"
        raise ConfigError(f"problem is {what}, expected an object (see docs/files.md)")
    question = _question(values)
    try:
        problem = problem_from(with_unknown_losses(posed))
    except ConfigError as error:
        raise ConfigError(f"problem.{error}") from error
    policy = _policy(question, limit_s, policies)
    level = checked_level(question.certify)
    with np.errstate(all="ignore"):  # extremes overflow to inf, which the judge refuses
        found = answer(problem, policy, seed=question.seed, level=level)
    return msgspec.json.encode({**found.figures(), "schedule": found.lists()})


def _question(values: dict[str, Any]) -> Question:
    """The fields beside the problem, each of its own kind."""
    kinds, given = get_type_hints(Question), {}
    for name, kind in kinds.items():
        if name in values:
            try:
                given[name] = msgspec.convert(values[name], kind, strict=True)
            except msgspec.ValidationError:
                shown = repr(values[name])[:100]
                raise ConfigError(f"{name} is {shown}, expected {_KINDS[name]}") from None
    question = Question(**given)
    require(0 <= question.seed < 2**63, "seed", question.seed, "0..2^63 - 1")
    return question


def _policy(question: Question, limit_s: float, policies: Collection[str]) -> Any:
    """The policy, within the service's limit of time."""
    if question.policy not in policies:  # a request must not import modules by name
        hint = nearest(question.policy, policies)
        raise ConfigError(f"policy: no {question.policy!r}; {hint}")
    made = make_policy(question.policy, question.options, question.time_limit_s)
    own_s = made.time_limit_s if takes_time_limit(made) else None
    if own_s is None or own_s <= limit_s:
        return made
    if question.time_limit_s is None and "time_limit_s" not in question.options:
        return make_policy(question.policy, question.options, SPARE * limit_s)
    raise ConfigError(f"time_limit_s is {own_s}, expected at most the service's, {limit_s:g} s")
