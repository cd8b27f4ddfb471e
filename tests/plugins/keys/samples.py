"""Keys, their tokens and requests that carry them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import attrs

from core import HTTPRequest, Record
from plugins.keys.entry import Key
from plugins.keys.gate import Gate
from plugins.keys.key_file import KeyFile
from plugins.keys.limits import Limits
from plugins.keys.token import Token, hash_of, new_token


@attrs.define
class Clock:
    """Both clocks of a gate, which run only when told."""

    unix: float = 1_800_000_000.0
    monotonic: float = 5000.0

    def now(self) -> float:
        return self.unix

    def steady(self) -> float:
        return self.monotonic

    def go(self, seconds: float) -> None:
        self.unix += seconds
        self.monotonic += seconds


def made(name: str = "ci", **fields: Any) -> tuple[Key, Token]:
    """A key with these limits or moments, and its token."""
    token = new_token()
    moments = {each: fields.pop(each) for each in ("created", "expires", "revoked") if each in fields}
    return Key(token.id, name, hash_of(token.secret), **moments, given=fields), token


def gate_of(*keys: Key, clock: Clock | None = None, defaults: Limits | None = None) -> Gate:
    clock = clock or Clock()
    gate = Gate(clock=clock.now, steady=clock.steady)
    gate.replace(keys, defaults or Limits())
    return gate


def http_with(*headers: tuple[bytes, bytes], path: str = "/messages", body: bytes = b"") -> HTTPRequest:
    return HTTPRequest("POST", path, mount="/v1", headers=headers, body=body, id="req_1")


def asking(token: Token) -> HTTPRequest:
    return http_with((b"x-api-key", token.text.encode()))


def recorded(http: HTTPRequest) -> Record:
    return Record(http, pipeline="messages")


def written(path: Path, *keys: Key) -> KeyFile:
    """A file with just these keys."""
    file = KeyFile(path)
    file.change(lambda _: keys)
    return file


def names(keys: Iterable[Key]) -> list[str]:
    return [key.name for key in keys]
