"""The rules of secrets find a key in an error."""

from __future__ import annotations

import logging
from typing import Any

import attrs
import pytest

from core import UpstreamError
from core.chat import Call
from core.testing.kit.secrets import KEY, RULES, refusals_keep_secrets, the_key_is_in_its_header_alone
from tests.core.testing.kit.backends_for_tests import Straight, said


@attrs.frozen(eq=False)
class TalkingCall(Call):
    async def __aenter__(self) -> Any:
        try:
            return await super().__aenter__()
        except UpstreamError as error:
            key = self.client.backend.key
            raise UpstreamError(f"{error.message} (key {key.reveal() if key else ''})") from error


class Talks(Straight):
    def call(self, *arguments: Any) -> Any:
        return TalkingCall(*arguments)


@attrs.frozen(eq=False)
class LeakyCall(Call):
    def body(self) -> dict[str, Any]:
        key = self.client.backend.key.reveal() if self.client.backend.key else ""
        return {**super().body(), "api_key": key}


class Leaks(Straight):
    def call(self, *arguments: Any) -> Any:
        return LeakyCall(*arguments)


@attrs.frozen(eq=False)
class LoggingCall(Call):
    def body(self) -> dict[str, Any]:
        logging.getLogger("plugin").warning(
            "asking with %s", self.client.backend.key and self.client.backend.key.reveal()
        )
        return super().body()


class Logs(Straight):
    def call(self, *arguments: Any) -> Any:
        return LoggingCall(*arguments)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_correct_backend_holds_them(rule: Any) -> None:
    assert said(rule, Straight) == ""


def test_a_key_in_an_error() -> None:
    assert f"the client's error has {KEY!r} in it" in said(refusals_keep_secrets, Talks)


def test_a_key_in_the_body_and_in_the_log() -> None:
    assert said(the_key_is_in_its_header_alone, Leaks) == "the backend's key is in the request's body"
    assert said(the_key_is_in_its_header_alone, Logs) == "the backend's key is in the log"
