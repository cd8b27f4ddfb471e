"""Claude Code works: two tools at once, a file written and read back, a deferred tool found and used."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.claude_code.claude import Claude
from tests.clients.claude_code.scenes import DIALECTS, check_request
from tests.clients.stage import Stage

ALLOWED = ("--allowedTools", "Bash(echo:*)", "Write", "Read")
dialects = pytest.mark.parametrize("name", list(DIALECTS))


@dialects
def test_a_plain_answer(claude: Claude, stage: Stage, tmp_path: Path, name: str) -> None:
    model = stage.play(f"{name}-plain", DIALECTS[name].answer("Grüezi 👋", reasoning="They say hi."))
    outcome = claude.run(tmp_path, model, "say hi")
    assert outcome.text == "Grüezi 👋"
    assert (outcome.result["stop_reason"], outcome.result["num_turns"]) == ("end_turn", 1)
    assert (outcome.result["usage"]["input_tokens"], outcome.result["usage"]["output_tokens"]) == (11, 7)
    (request,) = stage.requests(model)
    check_request(request.json, request.headers)
    assert "say hi" in request.json["messages"][1]["content"]
    assert request.json["stream"] is True


@dialects
def test_a_tool_loop(claude: Claude, stage: Stage, tmp_path: Path, name: str) -> None:
    made = tmp_path / "here" / "made.txt"
    said = "written by a tool: äöü\n"
    dialect = DIALECTS[name]
    model = stage.play(
        f"{name}-loop",
        dialect.answer(
            "Both at once.",
            reasoning="Two tools.",
            Bash={"command": "echo one", "description": "Say one"},
            Write={"file_path": str(made), "content": said},
        ),
        dialect.answer(None, reasoning="Now read it.", Read={"file_path": str(made)}),
        dialect.answer("All done."),
    )
    outcome = claude.run(tmp_path, model, "do it", *ALLOWED)
    assert outcome.text == "All done."
    assert outcome.result["stop_reason"] == "end_turn"
    assert made.read_text() == said
    for request in stage.requests(model):
        check_request(request.json, request.headers)
    first, second, third = [body["messages"] for body in stage.bodies(model)]
    assert second[: len(first)] == first, "what was sent once stays as it was, or prefix caches miss"
    assert third[: len(second)] == second
    called, one, written = second[len(first) :]
    assert (called["role"], called["content"]) == ("assistant", "Both at once.")
    ids = [dialect.call_id.format(tool) for tool in ("bash", "write", "read")]
    assert [call["id"] for call in called["tool_calls"]] == ids[:2]
    assert [(result["role"], result["tool_call_id"]) for result in (one, written)] == [
        ("tool", call) for call in ids[:2]
    ]
    assert one["content"] == "one"
    assert "made.txt" in written["content"]
    asked, told = third[len(second) :]
    assert (asked["role"], told["role"], told["tool_call_id"]) == ("assistant", "tool", ids[2])
    assert said.strip() in told["content"]


@dialects
def test_reasoning_comes_back_to_the_engine(claude: Claude, stage: Stage, tmp_path: Path, name: str) -> None:
    # Claude Code asks for its thinking without text, so the signature alone can carry it.
    dialect = DIALECTS[name]
    thought = "I ought to say one."
    called = dialect.answer(None, reasoning=thought, Bash={"command": "echo one", "description": "Say one"})
    model = stage.play(f"{name}-thought", called, dialect.answer("Said."))
    assert claude.run(tmp_path, model, "do it", *ALLOWED).text == "Said."
    asked = stage.bodies(model)[1]["messages"][2]
    assert asked["role"] == "assistant"
    assert asked[dialect.reasoning] == thought


def test_a_deferred_tool_is_sent_once_it_was_found(claude: Claude, stage: Stage, tmp_path: Path) -> None:
    dialect = DIALECTS["vllm"]
    search = dialect.answer(None, ToolSearch={"query": "select:NotebookEdit"})
    model = stage.play("vllm-search", search, dialect.answer("Found."))
    assert claude.run(tmp_path, model, "do it").text == "Found."
    before, after = [{tool["function"]["name"] for tool in body["tools"]} for body in stage.bodies(model)]
    assert after - before == {"NotebookEdit"}
    found = stage.bodies(model)[1]["messages"][-1]
    assert found["role"] == "tool"
    assert "NotebookEdit" in found["content"]
