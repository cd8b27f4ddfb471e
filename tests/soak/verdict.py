"""What a result is worth: an outcome that is as it should be, or a complaint."""

from __future__ import annotations

import json
from typing import Any, Final

from tests.soak.client import Result
from tests.soak.plan import BROKEN, REFUSED, Plan, joined, pieces_of
from tests.soak.told import WrongError, need

TYPES: Final = {
    429: "rate_limit_error",
    500: "api_error",
    502: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
SECRETS: Final = ("127.0.0.1", "sk-upstream-secret", "sk-client-secret", "Traceback")
GOING: Final = "the server is shutting down"


def judge(result: Result, *, killed: bool = False, draining: bool = False, begun: bool = True) -> str:
    """The outcome in a few words. Raises WrongError.

    `killed`: the worker that served it was killed; `draining`: the server was told to end while it ran; `begun`: the
    upstream had its request by then.
    """
    need(not result.wrong, result.wrong)
    need(result.end, "it hangs")
    _says_nothing_else(result)
    if result.end == "left":
        _begins_right(result)
        return "the client left"
    if result.end == "closed":
        _begins_right(result)
        return _closed(result.plan, killed=killed, unbegun=draining and not begun)
    error = _error(result)
    if error is None:
        need(result.plan.kind not in (*REFUSED, *BROKEN), f"a fault, and yet it ended with {result.status}")
        _is_whole(result)
        return "well"
    if draining and error["message"] == GOING:
        need(result.told or result.status == 529, f"a server that ends says {result.status}")
        _begins_right(result)
        return "an error: the server ends"
    _fits(result, error)
    return "an error event" if result.told else f"status {result.status}"


def _says_nothing_else(result: Result) -> None:
    said = str(result.headers) + (str(result.told.error) if result.told else result.body.decode(errors="replace"))
    need(not [secret for secret in SECRETS if secret in said], f"it tells what it must not: {said[:500]}")


def _closed(plan: Plan, *, killed: bool, unbegun: bool) -> str:
    if killed:
        return "cut off: the worker was killed"
    if unbegun:
        return "closed: the server had not taken it yet"
    need(plan.client == "stalls", "the connection was closed before the answer's end")
    return "cut off: the client stalled"


def _error(result: Result) -> dict[str, Any] | None:
    """The answer's error; that it is well formed, and the only one."""
    if result.told is not None:
        need(result.status == 200, f"a stream with status {result.status}")
        error, request_id = result.told.error, result.told.request_id
    else:
        body = json.loads(result.body)
        need((result.status == 200) == (body["type"] == "message"), f"status {result.status} with {body['type']}")
        error, request_id = body.get("error"), body.get("request_id", "")
    if error is not None:
        need(request_id == result.headers["request-id"], "the error's request_id is another")
        need(error["message"].strip() and error["type"], f"an error without words: {error}")
    return error


def _fits(result: Result, error: dict[str, Any]) -> None:
    """The error is that of the plan, and what came before the fault was delivered."""
    plan = result.plan
    wanted = {**REFUSED, **BROKEN}.get(plan.kind)
    if wanted is None:
        raise WrongError(f"an error where none was: {result.status} {error}")
    # A half answer that was whole JSON's beginning, or an error object, has the engine's own status.
    statuses = {wanted, 500} if plan.kind == "error" else {wanted}
    types = {TYPES[status] for status in statuses}
    need(error["type"] in types, f"{plan.kind}: {error['type']} instead of {types}")
    if result.told is None:
        need(result.status in statuses, f"{plan.kind}: status {result.status} instead of {statuses}")
    elif plan.kind in ("half", "error", "close", "silence"):
        said = joined(pieces_of(plan)[: plan.broken_at])
        _same(result.told.said, said)
    else:
        _begins_right(result)


def _is_whole(result: Result) -> None:
    plan = result.plan
    wanted = joined(pieces_of(plan))
    stop = "tool_use" if plan.content == "tool" else "end_turn"
    if result.told is not None:
        _same(result.told.said, wanted)
        need(result.told.stop_reason == stop, f"stop_reason is {result.told.stop_reason}")
        return
    message = json.loads(result.body)
    need(message["stop_reason"] == stop, f"stop_reason is {message['stop_reason']}")
    for field in ("thinking", "text"):
        said = "".join(block[field] for block in message["content"] if block["type"] == field)
        _same({field: said}, wanted)
    inputs = [block["input"] for block in message["content"] if block["type"] == "tool_use"]
    need(inputs == ([json.loads(wanted["arguments"])] if wanted["arguments"] else []), f"the input is {inputs}")


def _begins_right(result: Result) -> None:
    """What was said so far is the beginning of what should be."""
    if result.told is not None:
        wanted, said = joined(pieces_of(result.plan)), result.told.said
        _same(said, {field: wanted[field][: len(said[field])] for field in said})


def _same(said: dict[str, str], wanted: dict[str, str]) -> None:
    """Every character is there, once, and in its place."""
    for field, got in said.items():
        if got != wanted[field]:
            pairs = enumerate(zip(got, wanted[field], strict=False))
            at = next((place for place, (one, other) in pairs if one != other), min(len(got), len(wanted[field])))
            here = slice(max(0, at - 20), at + 40)
            raise WrongError(f"{field}, character {at}: {got[here]!r} instead of {wanted[field][here]!r}")
