"""What the service says of itself: an OpenAPI document, held to the truth by the tests."""

from collections.abc import Sequence
from typing import Any

from fedroam.runs.answering import PROOFS

Schema = dict[str, Any]

NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer"}
ABOVE_0: Schema = {"type": "number", "exclusiveMinimum": 0}
NOT_BELOW_0: Schema = {"type": "number", "minimum": 0}
COUNT: Schema = {"type": "integer", "minimum": 0}

EXAMPLE: Schema = {
    "problem": {
        "indptr": [0, 2, 4, 5],
        "station": [0, 1, 0, 1, 1],
        "efficiency": [4.0, 1.0, 2.0, 3.0, 5.0],
        "compute_s": [0.1, 0.11, 0.1],
        "capacity_hz": [1e6, 1e6],
        "payload_bit": 7e5,
        "required": [False, True, False],
        "min_selected": 2,
    },
    "policy": "certified",
    "options": {"effort": 0.05},
    "seed": 0,
}
"""Three users, two stations."""


def _list(item: Schema, what: str) -> Schema:
    return {"type": "array", "items": item, "description": what}


PROBLEM: Schema = {
    "type": "object",
    "description": "U users, S stations; the links of user u are indptr[u] .. indptr[u + 1] - 1",
    "additionalProperties": False,
    "required": list(EXAMPLE["problem"]),
    "properties": {
        "indptr": _list(COUNT, "U + 1: where each user's links begin") | {"minItems": 2},
        "station": _list(COUNT, "of each link, ascending within a user"),
        "efficiency": _list(ABOVE_0, "of each link, bit/s/Hz"),
        "compute_s": _list(NOT_BELOW_0, "U: seconds before the upload"),
        "capacity_hz": _list(ABOVE_0, "S: each station's band") | {"minItems": 1},
        "payload_bit": {
            "description": "size of the upload: one number, or U",
            "oneOf": [ABOVE_0, _list(ABOVE_0, "U")],
        },
        "required": _list({"type": "boolean"}, "U: who must take part"),
        "min_selected": COUNT | {"description": "how many at least"},
        "round": COUNT,
        "times_selected": _list(COUNT, "U"),
        "last_round": _list(WHOLE, "U: -1 where never"),
        "last_loss": _list({"type": ["number", "null"]}, "U: null where unknown"),
        "samples": _list(COUNT, "U"),
        "label_counts": _list(_list(COUNT, "samples of each class"), "U"),
    },
}

ANSWER: Schema = {
    "type": "object",
    "required": ["round_s", "selected", "is_lawful", "missed_required", "lacking", "wall_s"]
    + ["schedule"],
    "properties": {
        "round_s": NOT_BELOW_0 | {"description": "the round's length"},
        "selected": COUNT | {"description": "how many take part"},
        "is_lawful": {"type": "boolean"},
        "missed_required": _list(COUNT, "required users that were left out"),
        "lacking": COUNT | {"description": "users that are missing for min_selected"},
        "wall_s": NOT_BELOW_0 | {"description": "what the decision took"},
        "bound_s": NOT_BELOW_0 | {"description": "no lawful schedule is shorter"},
        "gap": {"type": ["number", "null"], "description": "round_s / bound_s - 1"},
        "outcome": {"enum": ["optimal", "effort", "time_limit"]},
        "schedule": {
            "type": "object",
            "required": ["station", "bandwidth_hz"],
            "properties": {
                "station": _list(WHOLE, "U: -1 where left out"),
                "bandwidth_hz": _list(NOT_BELOW_0, "U: 0 where left out"),
            },
        },
    },
}

REFUSAL: Schema = {
    "type": "object",
    "required": ["error"],
    "properties": {"error": {"type": "string", "description": "one line"}},
}

HEALTH: Schema = {
    "type": "object",
    "required": ["ready", "busy", "waiting"],
    "properties": {"ready": COUNT, "busy": COUNT, "waiting": COUNT},
}


def document(policies: Sequence[str], limit_s: float, largest_bytes: int) -> Schema:
    """The OpenAPI document of a service with these policies and limits."""
    from fedroam import __version__

    refusals = {
        "400": "not JSON, or no object",
        "408": "the request did not arrive in time",
        "413": f"more than {largest_bytes} bytes",
        "422": "a field is wrong, or no schedule can exist: the line says which and why",
        "500": "a failure of the service",
        "503": "all solvers are busy",
        "504": f"no answer within {limit_s:g} s",
    }
    solve = {
        "operationId": "solve",
        "summary": "Who takes part in a round, through which station, with how much bandwidth",
        "requestBody": {"required": True, "content": _json(_question(policies, limit_s), EXAMPLE)},
        "responses": {"200": _response("the schedule, with its time, bound and gap", ANSWER)}
        | {status: _response(what, REFUSAL) for status, what in refusals.items()},
    }
    health = {
        "operationId": "health",
        "summary": "How many solvers are ready",
        "responses": {
            "200": _response("at least one", HEALTH),
            "503": _response("none", HEALTH),
        },
    }
    metrics = {
        "operationId": "metrics",
        "summary": "Counters and times in the format of Prometheus",
        "responses": {
            "200": {
                "description": "one metric a line",
                "content": {"text/plain": {"schema": {"type": "string"}}},
            }
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "fedroam",
            "version": __version__,
            "description": "Schedules for federated learning over wireless networks.",
        },
        "paths": {
            "/solve": {"post": solve},
            "/health": {"get": health},
            "/metrics": {"get": metrics},
        },
    }


def _question(policies: Sequence[str], limit_s: float) -> Schema:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["problem"],
        "properties": {
            "problem": PROBLEM,
            "policy": {"enum": list(policies), "default": "certified"},
            "options": {"type": "object", "description": "of the policy (fedroam list policies)"},
            "seed": {"type": "integer", "minimum": 0, "maximum": 2**63 - 1, "default": 0},
            "time_limit_s": {
                "type": ["number", "null"],
                "minimum": 0,
                "maximum": limit_s,
                "description": "for policies that take one",
            },
            "certify": {"enum": list(PROOFS), "default": "prices"},
        },
    }


def _json(schema: Schema, example: Any = None) -> Schema:
    content = {"schema": schema} | ({"example": example} if example is not None else {})
    return {"application/json": content}


def _response(what: str, schema: Schema) -> Schema:
    return {"description": what, "content": _json(schema)}
