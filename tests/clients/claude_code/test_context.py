"""/context: some 25 requests for a count of tokens at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.testing import UpstreamAnswer
from tests.clients.claude_code.claude import Claude
from tests.clients.stage import Stage
from tests.server.gateway import GatewayProcess


@pytest.mark.parametrize("name", ["vllm", "ollama"])
def test_the_burst_is_counted(claude: Claude, gateway: GatewayProcess, stage: Stage, tmp_path: Path, name: str) -> None:
    model = stage.play(f"{name}-context", UpstreamAnswer())
    outcome = claude.run(tmp_path, model, "/context")
    assert "Context Usage" in outcome.text
    lines = [json.loads(line) for line in gateway.log.read_text().splitlines() if line.startswith("{")]
    counted = [line["status"] for line in lines if line.get("task") == "count_tokens" and line.get("model") == model]
    assert len(counted) > 10
    assert set(counted) == {200}
    asked = [exchange for exchange in stage.counts if exchange.json.get("model") == model]
    # Equal counts that are under way at the same time may be one request to the engine.
    assert 0 < len(asked) <= len(counted) if name == "vllm" else not asked
    assert not stage.requests(model), "counting must not generate"
