"""The rules of what must stay inside: the backend's key, its address, the traces of programs."""

from __future__ import annotations

import io
import logging
from contextlib import redirect_stderr, redirect_stdout
from typing import Final

import httpx
from structlog.processors import format_exc_info
from structlog.testing import capture_logs

from core.testing.fold_checks import need
from core.testing.kit.bench import Bench
from core.testing.kit.engine import piece
from core.testing.kit.expect import check_error
from core.testing.kit.rule import Rule, rule

KEY: Final = "parrot-Key-4711-hidden"
URL: Final = "http://engine.internal:9000/v1"
TRACE: Final = 'Traceback (most recent call last):\n  File "/srv/engine/main.py", line 7, in run\nValueError: x'
TOLD: Final = f"no entry with {KEY} at {URL}/chat/completions (engine.internal:9000)\n{TRACE}"
HIDDEN: Final = (KEY, "engine.internal", "Traceback", "/srv/engine")


def _check(bench: Bench, wire: bytes, status: int = 200, fails: type[Exception] | None = None) -> None:
    assembly = bench.assembly({"key": KEY, "url": URL})
    raised = (lambda: fails(TOLD)) if fails else None
    for place, reply in bench.serve(wire, status=status, fails=raised, assembly=assembly):
        check_error(place, reply)
        out = reply.body.decode() + str(reply.headers)
        for secret in HIDDEN:
            need(secret not in out, f"{place}: the client's error has {secret!r} in it")


@rule()
def refusals_keep_secrets(bench: Bench) -> None:
    """No key, no address and no trace of the engine's is in the client's error when the engine refuses."""
    for status in (400, 401, 503):
        _check(bench, bench.engine.failed({"message": TOLD}, status)[0], status)


@rule()
def broken_answers_keep_secrets(bench: Bench) -> None:
    """No key, no address and no trace is in the error of a body or a stream with status 200."""
    _check(bench, bench.engine.failed({"message": TOLD})[0])
    for said in ([], [piece({"content": "One"})]):
        _check(bench, bench.engine.stream([*said, {"error": {"message": TOLD}}]))


@rule()
def broken_connections_keep_secrets(bench: Bench) -> None:
    """No key, no address and no trace is in the error of a connection that breaks."""
    for said in ([], [piece({"content": "One"})]):
        _check(bench, bench.engine.stream(said, done=False), fails=httpx.ReadError)


@rule()
def the_key_is_in_its_header_alone(bench: Bench) -> None:
    """The backend's key is in its one header, and not in the address, the body, another header or the logs."""
    wire = bench.engine.wire(bench.engine.answer(), stream=False)
    for status in (200, 401):
        upstream, lines = bench.upstream(lambda _: [wire], status), _Lines()
        root, out = logging.getLogger(), io.StringIO()
        root.addHandler(lines)
        try:
            with capture_logs(processors=[format_exc_info]) as log, redirect_stdout(out), redirect_stderr(out):
                bench.ask(upstream, {"key": KEY})
        finally:
            root.removeHandler(lines)
        for where, shown in (("log", f"{log}{lines.lines}"), ("standard output", out.getvalue())):
            need(KEY not in shown, f"the backend's key is in the {where}")
        for asked in upstream.asked:
            others = [value for name, value in asked.request.headers.items() if name != bench.facts.key_header]
            for where, sent in (("address", asked.request.url), ("body", asked.body), ("headers besides", others)):
                need(KEY not in str(sent), f"the backend's key is in the request's {where}")


class _Lines(logging.Handler):
    """Keeps what is logged by the standard library's means."""

    def __init__(self) -> None:
        super().__init__(logging.NOTSET)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


RULES: Final[tuple[Rule, ...]] = (
    refusals_keep_secrets,
    broken_answers_keep_secrets,
    broken_connections_keep_secrets,
    the_key_is_in_its_header_alone,
)
