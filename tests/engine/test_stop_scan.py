"""What `stop_scan` finds by itself, against what a real llama.cpp server says that it matched.

Without its prompt cache the server gives the same greedy answer each time.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import anthropic
import attrs
import pytest

from tests.engine.conftest import Engine
from tests.server.gateway import GatewayProcess, running

pytestmark = pytest.mark.engine

TABLES = """
[models]
"told" = {{ backend = "told" }}
"scanned" = {{ backend = "scanned" }}
[backends.told]
plugins = ["llama_cpp"]
url = "{url}"
extra_body = {{ cache_prompt = false }}
[backends.scanned]
plugins = ["llama_cpp", "stop_scan"]
url = "{url}"
extra_body = {{ cache_prompt = false }}
[backends.scanned.stop_scan]
scopes = ["everything"]
upstream = "never"
"""
ROUNDS = 100
"""Prompts, each asked with a few sets of stop sequences; two answers each."""
SETS = 2


@attrs.frozen
class Ended:
    """An answer and why it ended."""

    thinking: str
    text: str
    reason: str | None
    sequence: str | None


@pytest.fixture(scope="module")
def client(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[anthropic.Anthropic]:
    tables = TABLES.format(url=engine.url)
    gateway: GatewayProcess
    with (
        running(tmp_path_factory.mktemp("gateway"), tables) as gateway,
        anthropic.Anthropic(base_url=gateway.url, api_key="unused", max_retries=0, timeout=60) as client,
    ):
        yield client


def ask(client: anthropic.Anthropic, model: str, said: str, stops: list[str]) -> Ended:
    """One greedy answer."""
    asked: dict[str, Any] = {"model": model, "max_tokens": 48, "messages": [{"role": "user", "content": said}]}
    message = client.messages.create(**asked, stop_sequences=stops, extra_body={"temperature": 0.0})
    said_by = {block.type: getattr(block, block.type) for block in message.content}
    assert message.usage.output_tokens > 0
    return Ended(said_by.get("thinking", ""), said_by.get("text", ""), message.stop_reason, message.stop_sequence)


def sequences(chance: random.Random, text: str) -> list[str]:
    """Some pieces of the text and some that are nearly so; none is in another, for there an engine looks no further."""
    found: list[str] = []
    for _ in range(chance.randint(1, 6)):
        start, size = chance.randrange(len(text)), chance.randint(1, 6)
        piece = text[start : start + size]
        if chance.random() < 0.5:
            piece = piece[:-1] + chance.choice("xyz#\n5")
        if piece.strip() and not any(piece in other or other in piece for other in found):
            found.append(piece)
    return found or ["xyz"]


def test_the_scan_agrees_with_the_engine(client: anthropic.Anthropic) -> None:
    chance = random.Random(20261130)
    matched = 0
    for _ in range(ROUNDS):
        said = f"Count to {chance.randint(2, 40)}."
        whole = ask(client, "told", said, ["never to be seen"])
        for _ in range(SETS):
            stops = sequences(chance, whole.text or whole.thinking)
            told, scanned = (ask(client, model, said, stops) for model in ("told", "scanned"))
            assert scanned == told, (said, stops)
            matched += told.reason == "stop_sequence"
    assert matched > ROUNDS * SETS / 4
