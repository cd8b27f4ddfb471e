"""The report of one run of client.mjs."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from core.testing import Exchange, UpstreamAnswer, UpstreamReply, UpstreamToolCall
from tests.clients.installs import Installs
from tests.clients.stage import Stage, refusal
from tests.server.gateway import GatewayProcess

HERE = Path(__file__).parent
PACKAGES = ("package.json", "package-lock.json")
THOUGHTFUL = UpstreamAnswer(text="Two words", reasoning="Hm.", reasoning_fields=("reasoning",))
WEATHER = UpstreamToolCall("weather", '{"city":"Zürich"}', "call_9")
SUMS = (UpstreamToolCall("add", '{"a":1,"b":2}', "call_a"), UpstreamToolCall("add", '{"a":3,"b":4}', "call_b"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("node")


@pytest.fixture(scope="session")
def report(
    gateway: GatewayProcess, stage: Stage, installs: Installs, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What each scene of the script saw."""
    version = json.loads((HERE / "package.json").read_text())["dependencies"]["@anthropic-ai/sdk"]
    modules = installs.npm(f"typescript-{version}", "ci", "--ignore-scripts", prepare=_lay_packages) / "node_modules"
    place = tmp_path_factory.mktemp("typescript")
    (place / "node_modules").symlink_to(modules)
    script = shutil.copy(HERE / "client.mjs", place)
    _play(stage)
    done = subprocess.run(
        ["node", script, gateway.url],
        cwd=place,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=90,
    )
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def _lay_packages(place: Path) -> None:
    for name in PACKAGES:
        shutil.copy(HERE / name, place)


def _play(stage: Stage) -> None:
    for scene in ("create", "events", "stream"):
        stage.play(f"vllm-ts-{scene}", THOUGHTFUL)
    called = UpstreamAnswer(text=None, tool_calls=(WEATHER,), finish_reason="tool_calls")
    stage.play("ollama-ts-tool", called, UpstreamAnswer(text="Sunny."))
    sums = UpstreamAnswer(text=None, tool_calls=SUMS, finish_reason="tool_calls")
    stage.play("vllm-ts-runner", sums, UpstreamAnswer(text="3 and 7."))
    stage.play("vllm-ts-parse", UpstreamAnswer(text='{"name":"Bern","people":134000}'))
    stage.play("vllm-ts-refused", refusal(400, "bad"))
    stage.play("vllm-ts-busy", refusal(429, "slow down", retry_after="7"))
    stage.play("vllm-ts-broken", UpstreamAnswer(text="Half", error={"message": "out of memory", "code": 500}))
    stage.play("vllm-ts-again", refusal(503, "full"), UpstreamAnswer(text="Now."))
    stage.play("vllm-ts-many", _echo)


def _echo(exchange: Exchange) -> UpstreamReply:
    said = exchange.json["messages"][-1]["content"]
    return UpstreamReply.answer(UpstreamAnswer(text=said * 10), stream=True, cut=41)
