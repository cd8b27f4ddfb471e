from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core import Chunk, HTTPRequest, hookimpl
from core.chat import RecordedCall
from core.config.file import read_config
from core.loader import load
from core.testing import MockUpstream, UpstreamAnswer, UpstreamReply
from core.trace import Outcome, Step, run_traced

pytestmark = pytest.mark.anyio
ASK = b'{"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}'
HTTP = HTTPRequest("POST", "/v1/messages", body=ASK, id="req_1")
ANSWER = UpstreamAnswer(text="Hello.", reasoning="", choice={"stop_reason": None})


class Crash:
    """A wrapper whose translator crashes."""

    @hookimpl(wrapper=True)
    def translate_content(self) -> Any:
        yield
        return self

    def feed(self, chunk: Chunk) -> None:
        raise ValueError("crash")

    def flush(self) -> None:
        """Nothing."""


async def run(
    folder: Path, calls: list[RecordedCall] | None, *, url: str = "http://up.invalid", more: str = "", key: str = ""
) -> tuple[Outcome, list[Step]]:
    (folder / "pipelines.toml").write_text(
        '[pipelines.p]\npaths = ["/v1"]\nplugins = ["anthropic", "models"]\n[models]\n"m" = { backend = "b" }\n'
        f'[backends.b]\nplugins = ["vllm"{more}]\nurl = "{url}"\n' + (f"key = '{key}'\n" if key else "")
    )
    told: list[Step] = []
    outcome = await run_traced(load(read_config(folder / "pipelines.toml", {})), HTTP, calls, told.append)
    return outcome, told


async def test_a_request_is_traced_on_recorded_bytes(tmp_path: Path) -> None:
    wire = ANSWER.json()
    outcome, told = await run(tmp_path, [RecordedCall(b"", (wire[:30], wire[30:]))])
    assert (outcome.status, b"Hello." in outcome.body) == (200, True)
    stages = [step.stage for step in told]
    assert stages[:8] == [
        "parse",
        "serialize",
        "route",
        "translate_content",
        "translate_stop",
        "call_upstream",
        "sent",
        "answered",
    ]
    assert stages[8:12] == ["read", "read", "ended", "chunk"]
    assert told[-1] == Step("client", "", f"200, {len(outcome.body)} bytes")
    assert outcome.log == []


async def test_live_the_upstream_is_asked(tmp_path: Path) -> None:
    async with MockUpstream(UpstreamReply.answer(ANSWER, stream=False)) as upstream:
        outcome, told = await run(tmp_path, None, url=upstream.url)
        assert len(upstream.exchanges) == 1
    assert outcome.status == 200
    assert "read" in [step.stage for step in told]


async def test_a_fault_is_told_with_its_place_and_trace(tmp_path: Path) -> None:
    outcome, told = await run(tmp_path, [RecordedCall(b"", (ANSWER.json(),))], more=f', "{__name__}:Crash"')
    assert (outcome.status, b"crash" in outcome.body) == (500, False)
    (fault,) = [step.what for step in told if step.stage == "fault"]
    assert fault.startswith(f"in translate_content.feed of plugin '{__name__}:Crash', backend 'b', at the chunk {{")
    assert "ValueError: crash" in [step.what for step in told]


async def test_a_secret_that_the_upstream_repeats_is_not_told(tmp_path: Path) -> None:
    wire = b'{"error": {"message": "no such key: se-same\\"open"}}'
    _, told = await run(tmp_path, [RecordedCall(b"", (wire,), 401)], key='se-same"open')
    assert any("no such key: ***" in step.what for step in told)
    assert not any("same" in step.what for step in told)


async def test_where_another_backend_took_over_its_call_is_the_next(tmp_path: Path) -> None:
    (tmp_path / "pipelines.toml").write_text(
        '[pipelines.p]\npaths = ["/v1"]\nplugins = ["anthropic", "models"]\n'
        '[models]\n"m" = [{ backend = "a" }, { backend = "b", priority = 1 }]\n'
        '[backends.a]\nplugins = ["openai"]\nurl = "http://a.invalid"\n'
        '[backends.b]\nplugins = ["vllm"]\nurl = "http://b.invalid"\n'
    )
    told: list[Step] = []
    calls = [RecordedCall(b"", (b"{}",), 503), RecordedCall(b"", (ANSWER.json(),))]
    outcome = await run_traced(load(read_config(tmp_path / "pipelines.toml", {})), HTTP, calls, told.append)
    assert (outcome.status, b"Hello." in outcome.body) == (200, True)
    assert dict(outcome.headers)[b"x-hookline-backend"] == b"b"
    assert [step.what for step in told if step.stage == "answered"] == ["503", "200"]
