"""One line of the log per request: who asked for what, who answered, how long it took, and how it ended."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Final
from urllib.parse import unquote

import attrs
import structlog

from core import Config, HTTPRequest, Record, hookimpl

MASK: Final = "***"

LONGEST: Final = 2000
"""Characters of a field."""

_SHORTEST: Final = 8
"""Characters that make a word a secret; clients that need no key send `none` or `ollama`."""

_CREDENTIALS: Final = frozenset(
    {b"authorization", b"x-api-key", b"api-key", b"x-goog-api-key", b"cookie", b"proxy-authorization"}
)
"""Headers whose value is a secret of the client's."""

_LARGE: Final = 2**63
"""A number that JSON has no room for in 64 bits."""

_SIGNS: Final = ("%", "hl-", "sk-", "sk_", "xai-", "hf_", "AIza", "eyJ", "earer ", "@", "=")
"""One of them is in whatever `_KEY` and `_VALUE` find, and to look for them is cheaper."""

_KEY: Final = re.compile(r"(?:\b(?:sk[-_]|gsk_|xai-|hf_|AIza|eyJ)|hl-[0-9a-z]{4,32}-)[\w.~+/-]{12,}")
"""The keys of providers, JSON web tokens, and our own keys."""

_VALUE: Final = re.compile(
    r"([?&;][\w-]*(?:key|token|secret|sig|signature|password)=|[Bb]earer |://(?=[^\s/@]+@))[^\s&\"'@]+"
)
"""What a query, a header or an address of others may have of that kind."""


@attrs.frozen(eq=False)
class AccessLog:
    """Writes a line "request" when a request is over. Nothing of what was said is in it, and no key."""

    onlooker: ClassVar[bool] = True

    # Bound at once: structlog's proxy would look for the logger at every line.
    _log: Any = attrs.field(init=False, repr=False, factory=lambda: structlog.get_logger().bind())
    _secrets: set[str] = attrs.field(init=False, repr=False, factory=set)

    @hookimpl
    def check(self, config: Config) -> None:
        """Learn what must not be in a line; what an earlier configuration had stays, for requests that still run."""
        self._secrets.update(_configured(config))

    @hookimpl
    def observe(self, records: Sequence[Record]) -> None:
        """Write a line for each."""
        signs = (*_SIGNS, *self._secrets)
        for record in records:
            fields = clean(record.fields(), signs, _sent(record.http))
            self._log.log(record.level, "request", **fields)


def clean(fields: dict[str, Any], signs: tuple[str, ...], sent: list[str]) -> dict[str, Any]:
    """The fields without secrets and whatever has the shape of a key, and such that every JSON reader takes them.

    Text of clients and upstreams is in some of them: a key put into the path or sent as a model's name, a refusal that
    repeats a key, an address with a password. `signs` are ours and, behind them, the configured secrets; `sent` are the
    client's own.
    """
    text = "\n".join([value for value in fields.values() if value.__class__ is str])
    hides = any(map(text.__contains__, signs)) or any(map(text.__contains__, sent))
    if hides or len(text) > LONGEST or not text.isascii():
        secrets = [*signs[len(_SIGNS) :], *sent]
        fields = {name: _plain(value, secrets) if isinstance(value, str) else value for name, value in fields.items()}
    if "output_tokens" in fields:
        for name in ("input_tokens", "output_tokens"):
            if not -_LARGE < fields[name] < _LARGE:
                fields[name] = str(fields[name])
    return fields


def _plain(value: str, secrets: list[str]) -> str:
    value = _masked(value, secrets)
    if "%" in value:
        # Only where a secret hides behind the escapes: a path is told as it came.
        plain = unquote(value)
        masked = _masked(plain, secrets)
        value = masked if masked != plain else value
    if len(value) > LONGEST:
        value = f"{value[:LONGEST]}…"
    return value.encode("utf-8", "replace").decode()


def _masked(value: str, secrets: list[str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):
        value = value.replace(secret, MASK)
    return _VALUE.sub(rf"\1{MASK}", _KEY.sub(MASK, value))


def _sent(http: HTTPRequest) -> list[str]:
    """The words of the client's own credentials."""
    values = [value.decode("latin-1") for name, value in http.headers if name in _CREDENTIALS]
    return [word for value in values for word in value.split() if len(word) >= _SHORTEST]


def _configured(config: Config) -> Iterator[str]:
    for backend in config.backends.values():
        secrets = [each.reveal() for each in (backend.key, backend.proxy, *backend.headers.values()) if each]
        for value in (*secrets, *backend.query.values()):
            yield from (word for word in value.split() if len(word) >= _SHORTEST)
