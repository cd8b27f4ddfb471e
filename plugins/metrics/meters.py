"""What is counted, and how a request's record becomes numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from weakref import WeakSet

import attrs

from core import Record, Traffic, Usage
from plugins.metrics.backends import Backends
from plugins.metrics.keyed import Keyed
from plugins.metrics.names import Names
from plugins.metrics.values import Distribution, Files, Metric, Value

SECONDS: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0)
"""Bounds for what takes as long as an answer, or its first token."""

TOKEN_SECONDS: Final = (0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5)
"""Bounds for the time of one token."""

_WHO: Final = ("backend", "model")
_HOW: Final = (*_WHO, "stream")

REQUESTS: Final = Metric(
    "hookline_requests",
    "Requests that are over, by how they ended: ok, the stop reason, the kind of the error, or left.",
    ("pipeline", *_HOW, "task", "status", "outcome"),
)
IN_FLIGHT: Final = Metric("hookline_requests_in_flight", "Requests that are being served.", ("pipeline",))
FAULTS: Final = Metric("hookline_faults", "Requests on which a plugin or the gateway failed.", ("pipeline",))
DURATION: Final = Metric(
    "hookline_request_duration_seconds", "Time from a request's arrival to the last byte of its answer.", _HOW
)
FIRST_TOKEN: Final = Metric(
    "hookline_time_to_first_token_seconds", "Time to the first piece of the answer from the engine.", _HOW
)
FIRST_BYTE: Final = Metric("hookline_time_to_first_byte_seconds", "Time to the first byte to the client.", _HOW)
PER_TOKEN: Final = Metric(
    "hookline_time_per_output_token_seconds", "Mean time of a streamed answer's tokens after the first.", _WHO
)
INPUT: Final = Metric("hookline_input_tokens", "Tokens of prompts, cached ones included.", _WHO)
CACHED: Final = Metric("hookline_cached_input_tokens", "Tokens of prompts that came from a prefix cache.", _WHO)
OUTPUT: Final = Metric("hookline_output_tokens", "Tokens of answers.", _WHO)


@attrs.frozen(eq=False)
class Times:
    """How long the requests for one model at one backend took; those that are streamed apart from the others."""

    duration: Distribution
    first_token: Distribution
    first_byte: Distribution

    def take(self, record: Record) -> None:
        """Count a request."""
        began = record.started
        self.duration.observe(record.ended - began)
        if record.first_delta:
            self.first_token.observe(record.first_delta - began)
        if record.first:
            self.first_byte.observe(record.first - began)


@attrs.frozen(eq=False)
class Tokens:
    """The tokens of one model at one backend."""

    input: Value
    cached: Value
    output: Value
    each: Distribution

    def take(self, record: Record, usage: Usage) -> None:
        """Count a request's; an engine's count below zero is none."""
        if usage.input_tokens > 0:
            self.input.add(usage.input_tokens)
        if usage.cache_read_tokens > 0:
            self.cached.add(usage.cache_read_tokens)
        if usage.output_tokens > 0:
            self.output.add(usage.output_tokens)
        streamed = record.request is not None and record.request.stream
        if streamed and usage.output_tokens > 1 and record.first_delta and record.stop is not None:
            self.each.observe((record.ended - record.first_delta) / (usage.output_tokens - 1))


class Meters:
    """One worker's numbers. Those of a set of labels are made when it is first met."""

    def __init__(self, files: Files, max_models: int) -> None:
        self._files = files
        self._names = Names(max_models)
        self._keyed = Keyed(files)
        self.backends = Backends(files)
        self._requests: dict[tuple[str | bool | int, ...], Value] = {}
        self._times: dict[tuple[str, str, bool], Times] = {}
        self._tokens: dict[tuple[str, str], Tokens] = {}
        self._traffic: WeakSet[Traffic] = WeakSet()
        """One per pipeline, and after a reload the one before, whose requests may still run."""
        self._in_flight: dict[str, Value] = {}
        self._faults: dict[str, Value] = {}

    def take(self, records: Sequence[Record], traffic: Traffic) -> None:
        """Count requests that are over, and see what goes on."""
        self._see(traffic)
        for record in records:
            if record.faults:
                self._faults[traffic.pipeline].add(record.faults)
            self._count(record, *self._routed(record))
            self._keyed.take(record, _outcome(record))
            self.backends.take(record)

    def _see(self, traffic: Traffic) -> None:
        pipeline = traffic.pipeline
        if traffic not in self._traffic:
            self._traffic.add(traffic)
            self.backends.see(traffic.backends)
            if pipeline not in self._in_flight:
                self._in_flight[pipeline] = self._files.value("gauge", IN_FLIGHT, (pipeline,))
                # There from the first request on, so that the first fault is seen as an increase.
                self._faults[pipeline] = self._files.value("counter", FAULTS, (pipeline,), suffix="_total")
        in_flight = self._in_flight[pipeline]
        in_flight.add(sum(each.running for each in self._traffic if each.pipeline == pipeline) - in_flight.now)

    def _routed(self, record: Record) -> tuple[str, str]:
        """Times and tokens of a message, once it is known who serves it; the labels of backend and model."""
        if record.route is None or record.request is None:
            return "", ""
        backend = record.route.backend
        who = (backend, self._names.label(record.route.model, served=bool(record.accepted)))
        if record.request.task == "message":
            how = (*who, record.request.stream)
            times = self._times.get(how)
            if times is None:
                times = self._times[how] = self._make_times(how)
            times.take(record)
            if record.usage is not None:
                tokens = self._tokens.get(who)
                if tokens is None:
                    tokens = self._tokens[who] = self._make_tokens(who)
                tokens.take(record, record.usage)
        return who

    def _count(self, record: Record, backend: str, model: str) -> None:
        request = record.request
        task, stream = ("", False) if request is None else (request.task, request.stream)
        key = (record.pipeline, backend, model, stream, task, record.status, _outcome(record))
        count = self._requests.get(key)
        if count is None:
            labels = [_word(each) for each in key]
            count = self._requests[key] = self._files.value("counter", REQUESTS, labels, suffix="_total")
        count.add(1)

    def _make_times(self, how: tuple[str, str, bool]) -> Times:
        labels = [_word(each) for each in how]
        made = (self._files.distribution(metric, labels, SECONDS) for metric in (DURATION, FIRST_TOKEN, FIRST_BYTE))
        return Times(*made)

    def _make_tokens(self, who: tuple[str, str]) -> Tokens:
        files = self._files
        read, cached, written = (files.value("counter", each, who, suffix="_total") for each in (INPUT, CACHED, OUTPUT))
        return Tokens(read, cached, written, files.distribution(PER_TOKEN, who, TOKEN_SECONDS))


def _outcome(record: Record) -> str:
    if record.left:
        return "left"
    if record.error is not None:
        return record.error.kind
    return record.stop.reason if record.stop is not None else "ok"


def _word(value: str | bool | int) -> str:
    """As a label; a boolean as TOML and JSON have it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
