"""A finished span, as a value: what many requests have in common, and what is one request's alone.

The SDK's own spans are guarded against all that may be done to one while it runs. One that is made when everything is
over needs none of that, and takes a tenth of the time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import attrs
from opentelemetry.trace import SpanContext, SpanKind

from core import Record, Request

KEPT: Final = 500
"""Sorts of requests that are kept in mind."""

LONGEST: Final = 256
"""Characters of a name in a span."""

_KEY: Final = re.compile(r"hl-[0-9a-z]{4,32}-[\w-]{12,}")
"""What the plugin `keys` gives to clients: one that sends its key as a model's name shall not find it in a trace."""

_PARAMETERS: Final = ("max_tokens", "temperature", "top_p", "top_k")


@attrs.frozen(eq=False)
class Common:
    """Name, kind and attributes of all requests of one sort that ended in one way."""

    name: str
    kind: SpanKind
    attributes: Mapping[str, Any]
    is_error: bool = False


# Not frozen, though nothing changes it: to make a frozen one takes three times as long, and there is one per request.
@attrs.define(eq=False)
class Span:
    """A finished span. Times are nanoseconds since 1970; `attributes` are those that are not common."""

    context: SpanContext
    parent: SpanContext | None
    common: Common
    start: int
    end: int
    events: tuple[tuple[str, int], ...]
    """Each by name and time."""
    attributes: Mapping[str, Any]


Key = tuple[Any, ...]


def key_of(record: Record) -> Key:
    """The same for all requests whose spans have all in common that they can."""
    request, route = record.request, record.route
    end = (
        record.pipeline,
        record.status,
        record.error and record.error.kind,
        record.stop and record.stop.reason,
        record.left,
    )
    if request is None:
        return (*end, record.http.method)
    place = (route.backend, route.model[:LONGEST]) if route is not None else ()
    asked = (request.stream, request.max_tokens, request.temperature, request.top_p, request.top_k)
    return (*end, request.task, request.model[:LONGEST], *asked, *place)


def common_of(record: Record, upstreams: Mapping[str, Mapping[str, Any]]) -> Common:
    """What the requests of this one's key have in common; `upstreams` are attributes by backend."""
    request, route = record.request, record.route
    found: dict[str, Any] = {"hookline.pipeline": record.pipeline, "http.response.status_code": record.status}
    name, kind = record.http.method, SpanKind.SERVER
    if route is not None:
        found |= upstreams.get(route.backend, {})
        found["hookline.backend"] = route.backend
        found["gen_ai.request.model"] = _shown(route.model)
    if request is not None:
        name = request.task
        found["hookline.model"] = _shown(request.model)
        if request.task == "message":
            name, kind = f"chat {_shown((route or request).model)}", SpanKind.CLIENT
            _add_question(found, request)
    if record.stop is not None:
        found["gen_ai.response.finish_reasons"] = (record.stop.reason,)
    if record.error is not None:
        found["error.type"] = record.error.kind
    if record.left:
        found["hookline.left"] = True
    return Common(name, kind, found, record.error is not None)


def _shown(model: str) -> str:
    return _KEY.sub("***", model)[:LONGEST]


def _add_question(found: dict[str, Any], request: Request) -> None:
    found["gen_ai.operation.name"] = "chat"
    found["gen_ai.request.stream"] = request.stream
    for name in _PARAMETERS:
        value = getattr(request, name)
        if value is not None:
            found[f"gen_ai.request.{name}"] = value


def own_attributes(record: Record) -> dict[str, Any]:
    """The attributes that are another with every request."""
    found: dict[str, Any] = {"hookline.request.id": record.http.id}
    usage = record.usage
    if usage is not None:
        found["gen_ai.usage.input_tokens"] = usage.input_tokens
        found["gen_ai.usage.output_tokens"] = usage.output_tokens
        if usage.cache_read_tokens:
            found["gen_ai.usage.cache_read.input_tokens"] = usage.cache_read_tokens
    if record.first_delta and record.request is not None and record.request.stream:
        found["gen_ai.response.time_to_first_chunk"] = record.first_delta - record.started
    return found
