"""The tables of docs/mapping.md that say it backend by backend: each cell is read off the wire."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from core.testing import UpstreamAnswer
from tests.core.chat.pdfs import pdf_of
from tests.mapping.wire import ASK, BACKENDS, HI, F, Wire, completion

PAGE = Path(__file__).parents[2] / "docs" / "mapping.md"
NOTHING = "–"
CALLED: dict[str, Any] = {
    "role": "assistant",
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "A"},
        {"type": "tool_use", "id": "toolu_01", "name": "f", "input": {}},
    ],
}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_01", "content": "r"}
TALK = [HI, CALLED, {"role": "user", "content": [RESULT, {"type": "text", "text": "Go"}]}]
REPORTS: dict[str, dict[str, Any]] = {
    "`stop_reason`": {"choice": {"stop_reason": "END"}},
    "`matched_stop`": {"choice": {"matched_stop": "END"}},
    "`__verbose`": {"top": {"__verbose": {"stop_type": "word", "stopping_word": "END"}}},
    "its kind, else `stop_scan`": {"finish_reason": "stop_sequence"},
    "`stop_scan`": {"text": "An END"},
}


def shown(table: str, backend: str) -> str:
    """The cells behind the backend's name in the table under that heading."""
    text = PAGE.read_text().partition(f"\n### {table}\n")[2].partition("\n#")[0]
    rows = [line for line in text.splitlines() if line.startswith(f"| `{backend}` | ")]
    assert len(rows) == 1, f"### {table} has {len(rows)} rows for {backend}"
    return rows[0].removeprefix(f"| `{backend}` ")


def cells(*found: str) -> str:
    return f"| {' | '.join(found)} |"


def takes(wire: Wire, backend: str, **fields: Any) -> bool:
    try:
        wire.sent(backend, **fields)
    except AssertionError:
        return False
    return True


def fields(value: Mapping[str, Any]) -> str:
    """Fields as they stand in a JSON object."""
    return f"`{json.dumps(value)[1:-1]}`" if value else NOTHING


@pytest.mark.parametrize("backend", BACKENDS)
def test_fields(wire: Wire, backend: str) -> None:
    limit = next(name for name in wire.sent(backend) if name.startswith("max_"))
    most = next(
        (n for n in (4, 5, 16, 32) if not takes(wire, backend, stop_sequences=[f"s{i}" for i in range(n + 1)])), 0
    )
    schema = {"format": {"type": "json_schema", "schema": {"type": "object"}}}
    form = wire.sent(backend, output_config=schema).get("response_format", {}).get("type", "")
    form = {"json_schema": "`response_format`", "json_object": "JSON mode, system prompt", "": "system prompt"}[form]
    if form == "`response_format`" and "response_format" not in wire.sent(backend, output_config=schema, tools=[F]):
        form += "; beside tools system prompt"
    counting = wire.ask("/v1/messages/count_tokens", {**ASK}, backend=backend).requests
    assert shown("Fields", backend) == cells(
        f"`{limit}`",
        "yes" if "top_k" in wire.sent(backend, top_k=3) else NOTHING,
        str(most or "any number"),
        next((name for name, report in REPORTS.items() if matches(wire, backend, report)), NOTHING),
        form,
        f"`{counting[0].url.path}`" if counting else "estimated",
    )


def matches(wire: Wire, backend: str, report: Mapping[str, Any]) -> bool:
    body = {**ASK, "stop_sequences": ["END"]}
    got = wire.ask("/v1/messages", body, completion(UpstreamAnswer(**report)), backend=backend)
    return bool(got.json["stop_sequence"] == "END")


@pytest.mark.parametrize("backend", BACKENDS)
def test_messages(wire: Wire, backend: str) -> None:
    _, turn, _, *behind = wire.messages(*TALK, backend=backend, tools=[F])
    reasoning = next((f"`{name}`" for name in turn if name.startswith("reasoning")), NOTHING)
    assert shown("Messages", backend) == cells(
        images(wire, backend),
        pdf(wire, backend),
        prefill(wire, backend),
        "content parts" if isinstance(turn["content"], list) else reasoning,
        "kept" if turn["tool_calls"][0]["id"] == "toolu_01" else "replaced",
        "after an assistant's `OK.`" if len(behind) > 1 else "as it is",
    )


def images(wire: Wire, backend: str) -> str:
    def taken(**source: str) -> bool:
        block = {"type": "image", "source": source}
        return takes(wire, backend, messages=[{"role": "user", "content": [block]}])

    kinds = [
        kind for kind in ("jpeg", "png", "gif", "webp") if taken(type="base64", media_type=f"image/{kind}", data="aaaa")
    ]
    inline = "base64" if len(kinds) == 4 else f"base64 {', '.join(kinds)}"
    if not kinds:
        return "none"
    return f"URL, {inline}" if taken(type="url", url="https://a.example/b.png") else inline


def pdf(wire: Wire, backend: str) -> str:
    source = {"type": "base64", "media_type": "application/pdf", "data": b64encode(pdf_of("A")).decode()}
    (turn,) = wire.messages({"role": "user", "content": [{"type": "document", "source": source}]}, backend=backend)
    return "its text" if turn["content"] == "A" else "`file`"


def prefill(wire: Wire, backend: str) -> str:
    talk = [HI, {"role": "assistant", "content": "A"}]
    if not takes(wire, backend, messages=talk):
        return "refused"
    body = wire.sent(backend, messages=talk)
    flags = [name for name in ("continue_final_message",) if name in body]
    flags += [name for name in ("prefix",) if name in body["messages"][-1]]
    return f"`{flags[0]}`" if flags else "as it is"


@pytest.mark.parametrize("backend", BACKENDS)
def test_tools(wire: Wire, backend: str) -> None:
    both = [F, {**F, "name": "g"}]

    def choice(**asked: Any) -> str:
        body = wire.sent(backend, tools=both, tool_choice=asked)
        if "tools" not in body:
            return "no tools sent"
        given = body.get("tool_choice")
        word = "by name" if isinstance(given, dict) else f"`{given}`" if given else "nothing"
        return word if len(body["tools"]) == 2 else f"{word}, that tool alone"

    one = wire.sent(backend, tools=both, tool_choice={"type": "auto", "disable_parallel_tool_use": True})
    assert shown("Tools", backend) == cells(
        choice(type="any"),
        choice(type="tool", name="g"),
        choice(type="none"),
        "`parallel_tool_calls`" if "parallel_tool_calls" in one else "later ones cut off",
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_thinking(wire: Wire, backend: str) -> None:
    plain = wire.sent(backend)

    def more(**asked: Any) -> dict[str, Any]:
        return {name: value for name, value in wire.sent(backend, **asked).items() if plain.get(name) != value}

    said = [more(output_config={"effort": effort}) for effort in ("low", "medium", "high", "xhigh", "max")]
    words = [str(each.get("reasoning", {}).get("effort") or each.get("reasoning_effort", NOTHING)) for each in said]
    assert more(thinking={"type": "disabled"}) == more(thinking={"type": "between_tools"})
    assert shown("Thinking", backend) == cells(
        ", ".join(words) if set(words) != {NOTHING} else NOTHING,
        fields(more(thinking={"type": "enabled", "budget_tokens": 4096})),
        fields(more(thinking={"type": "adaptive"})),
        fields(more(thinking={"type": "disabled"})),
    )
