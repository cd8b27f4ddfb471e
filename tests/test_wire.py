"""Every recorded answer of a real engine through its backend: all modes, cut many ways, and what must come out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from core.testing import Assembly, Mode, Reply, assert_split_invariant

WIRE = Path(__file__).parent / "wire"
BACKENDS = {
    "vllm": "vllm",
    "llama_cpp": "llama_cpp",
    "llama_cpp_smollm2": "llama_cpp",
    "llama_cpp_python": "openai",
    "transformers_serve": "transformers_serve",
}
RECORDINGS = sorted(
    f"{path.parent.name}/{path.name}"
    for engine in BACKENDS
    for path in (WIRE / engine).iterdir()
    if not path.name.endswith(".request.json") and not path.name.startswith("described")
)
REFUSED = [name for name in RECORDINGS if name.split(".")[1].isdigit()]
CUTS = ((17, 1001), (333,), (2, 3, 50, 51, 52, 900))
UNCUT: tuple[tuple[int, ...], ...] = ()

Play = Callable[[str, Sequence[Sequence[int]]], dict[Mode, Reply]]


@pytest.fixture(scope="module")
def assemblies() -> dict[str, Assembly]:
    return {plugin: Assembly([plugin]) for plugin in set(BACKENDS.values())}


@pytest.fixture
def play(assemblies: dict[str, Assembly]) -> Play:
    def run(name: str, cuts: Sequence[Sequence[int]]) -> dict[Mode, Reply]:
        engine = name.partition("/")[0]
        body = (WIRE / name).read_bytes()
        assembly = assemblies[BACKENDS[engine]]
        request = {"stop_sequences": stops_of(name)}
        return assert_split_invariant(assembly, body, request=request, cuts=cuts, status=status_of(name))

    return run


def status_of(name: str) -> int:
    word = name.split(".")[1]
    return int(word) if word.isdigit() else 200


def stops_of(name: str) -> list[str]:
    """The stop strings of the recorded request, as far as a client of the gateway could ask for them."""
    path = WIRE / f"{name.split('.', maxsplit=1)[0]}.request.json"
    if not path.exists() or "bad_json" in name:
        return []
    request = json.loads(path.read_bytes())
    stop = request.get("stop") or [] if isinstance(request, dict) else []
    stops = [text for text in ([stop] if isinstance(stop, str) else stop) if text.strip()]
    return stops if len(stops) <= 4 else []


def test_the_recordings_are_there() -> None:
    assert len(RECORDINGS) > 180
    assert {name.partition("/")[0] for name in RECORDINGS} == BACKENDS.keys()


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recorded_answer_is_the_same_however_it_comes(name: str, play: Play) -> None:
    replies = play(name, CUTS)
    for mode, reply in replies.items():
        assert (reply.error is None) == (status_of(name) == 200), mode
        assert reply.error is not None or reply.message["stop_reason"] is not None


@attrs.frozen
class Answer:
    """What must come out; `tokens` are the input's and the output's, None where the engine counted nothing."""

    thinking: str = ""
    text: str = ""
    stop_reason: str = "end_turn"
    stop_sequence: str | None = None
    tokens: tuple[int, int] | None = None
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()


TO_TEN = "The user wants the numbers from 1 to 10.\n"
TEN = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10"
CALL = "I should call get_weather.\n"
PARIS = ("get_weather", {"city": "Paris"})
CUT_CALL = ("get_weather", {"unparsed_arguments": '{"city": "'})
TWO = (PARIS, ("get_time", {"city": "Oslo"}))
TWO_CALLS = "I should call get_weather and get_time.\n"

ANSWERS = {
    "vllm/chat.json": Answer("\n" + TO_TEN, "\n\n" + TEN, tokens=(15, 54)),
    "vllm/chat_stream_usage.sse": Answer("\n" + TO_TEN, "\n\n" + TEN, tokens=(15, 54)),
    "vllm/chat_nothink_stream.sse": Answer("", TEN),
    "vllm/chat_unicode_stream.sse": Answer("", "naïve 日本語 🙂 end"),
    "vllm/chat_stop5.json": Answer("\n" + TO_TEN, "\n\n1, 2, 3, 4, ", "stop_sequence", "5", (15, 37)),
    "vllm/chat_stop5_stream.sse": Answer("\n" + TO_TEN, "\n\n1, 2, 3, 4, ", "stop_sequence", "5", (15, 37)),
    "vllm/chat_stop_across_tokens.json": Answer("\n" + TO_TEN, "\n\n1, 2, 3, ", "stop_sequence", "4, 5", (15, 37)),
    "vllm/chat_stop_two.json": Answer("\n" + TO_TEN, "\n\n1, 2, ", "stop_sequence", "3, 4", (15, 34)),
    "vllm/chat_stop_first_token_stream.sse": Answer("", "", "stop_sequence", "1"),
    "vllm/chat_stop_in_thinking.json": Answer("\nThe user wants the ", "", "stop_sequence", "numbers", (15, 11)),
    # The recorded client stopped at "\n", which a client of the Messages API cannot ask for: not its stop, a plain end.
    "vllm/chat_stop_newline.json": Answer("", "one", tokens=(21, 3)),
    "vllm/chat_max_tokens_in_thinking.json": Answer("\nThe user ", "", "max_tokens", tokens=(15, 6)),
    "vllm/chat_max_tokens_1.json": Answer("", "", "max_tokens", tokens=(15, 1)),
    "vllm/chat_tools_stream.sse": Answer("\n" + CALL, "\n\n", "tool_use", tokens=(152, 43), calls=(PARIS,)),
    "vllm/chat_tools_two_stream.sse": Answer("\n" + TWO_CALLS, "\n\n", "tool_use", calls=TWO),
    # A named choice is obeyed, with finish_reason "stop".
    "vllm/chat_tools_named.json": Answer(
        "\n" + CALL, "", "tool_use", tokens=(222, 46), calls=(("get_time", {"city": "Paris"}),)
    ),
    "vllm/chat_tools_stop_in_args_stream.sse": Answer(
        "\n" + CALL, "\n\n<tool_c", "stop_sequence", "Paris", calls=(CUT_CALL,)
    ),
    "llama_cpp/chat.json": Answer(TO_TEN, TEN, tokens=(15, 54)),
    "llama_cpp/chat_stream_usage.sse": Answer(TO_TEN, TEN, tokens=(15, 54)),
    # Recorded without "verbose": the server then says nothing of the match.
    "llama_cpp/chat_stop5_stream.sse": Answer(TO_TEN, "1, 2, 3, 4, ", tokens=(15, 37)),
    "llama_cpp/chat_max_tokens_in_thinking.json": Answer("The user ", "", "max_tokens", tokens=(15, 6)),
    "llama_cpp/chat_tools.json": Answer(CALL, "", "tool_use", tokens=(152, 43), calls=(PARIS,)),
    "llama_cpp/chat_tools_two.json": Answer(TWO_CALLS, "", "tool_use", tokens=(235, 77), calls=TWO),
    "llama_cpp/chat_tools_two_stream.sse": Answer(TWO_CALLS, "", "tool_use", calls=TWO),
    "llama_cpp_python/chat_max_tokens_in_answer_stream.sse": Answer(
        "", f"<think>\n{TO_TEN}</think>\n\n1, 2, ", "max_tokens"
    ),
    "llama_cpp_smollm2/chat_stop_first_token.json": Answer("", "", tokens=(36, 1)),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_the_client_gets(name: str, play: Play) -> None:
    wanted = ANSWERS[name]
    for mode, reply in play(name, UNCUT).items():
        message = reply.message
        got = Answer(
            joined(message, "thinking"),
            joined(message, "text"),
            message["stop_reason"],
            message["stop_sequence"],
            tokens_of(message) if wanted.tokens else None,
            tuple((block["name"], block["input"]) for block in message["content"] if block["type"] == "tool_use"),
        )
        assert got == wanted, mode


def tokens_of(message: Any) -> tuple[int, int]:
    return message["usage"]["input_tokens"], message["usage"]["output_tokens"]


def joined(message: Any, kind: str) -> str:
    return "".join(block[kind] for block in message["content"] if block["type"] == kind)


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("vllm/chat_tools_stream.sse", "chatcmpl-tool-"),
        ("llama_cpp/chat_tools_two_stream.sse", ""),
        ("llama_cpp/chat_tools_two.json", ""),
    ],
)
def test_tool_ids_arrive_as_they_were_given(name: str, ids: str, play: Play) -> None:
    recorded = (WIRE / name).read_text()
    for reply in play(name, UNCUT).values():
        given = [block["id"] for block in reply.message["content"] if block["type"] == "tool_use"]
        assert given
        assert all(f'"id":"{identity}"' in recorded and identity.startswith(ids) for identity in given)


TWICE = [
    ("vllm", "chat_stop5"),
    ("vllm", "chat_nothink"),
    ("vllm", "chat_stop_first_token"),
    ("vllm", "chat_max_tokens_in_thinking"),
    ("llama_cpp", "chat_stop5"),
    ("llama_cpp", "chat_nothink"),
    ("llama_cpp", "chat_stop_first_token"),
    ("llama_cpp", "chat_max_tokens_in_thinking"),
    ("llama_cpp_python", "chat_stop5"),
    ("llama_cpp_python", "chat_max_tokens_in_answer"),
    ("llama_cpp_smollm2", "chat_stop5"),
]


@pytest.mark.parametrize(("engine", "case"), TWICE)
def test_both_recorded_forms_of_one_request_give_one_answer(engine: str, case: str, play: Play) -> None:
    whole, stream = (
        next(iter(play(f"{engine}/{name}", UNCUT).values())).message for name in (f"{case}.json", f"{case}_stream.sse")
    )
    for field in ("content", "stop_reason", "stop_sequence"):
        assert stream[field] == whole[field]


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_keep_their_words_and_their_class(name: str, play: Play) -> None:
    body = (WIRE / name).read_text()
    # An image that the model cannot read is llama.cpp's fault by its status, and the request's by its words.
    status = 400 if name == "llama_cpp/err_image.500.json" else status_of(name)
    kinds = {400: "invalid_request_error", 404: "not_found_error", 422: "invalid_request_error"}
    for mode, reply in play(name, UNCUT).items():
        assert reply.error is not None, mode
        assert reply.status == {401: 502, 404: 404, 500: 500}.get(status, 400), mode
        assert words_of(body) in reply.error["message"], mode
        assert reply.error["type"] == kinds.get(status, "api_error"), mode


def words_of(body: str) -> str:
    """What the engine said; for a prompt over the context, what clients of the Messages API act on."""
    if over := re.search(r"request \((\d+) tokens\).*\((\d+) tokens\)|length is (\d+).* at least (\d+) input", body):
        prompt, window, other_window, other_prompt = over.groups()
        return f"prompt is too long: {prompt or other_prompt} tokens > {window or other_window} maximum"
    if over := re.search(r"max_tokens=(\d+) cannot be greater than max_model_len=(\d+)", body):
        return f"max_tokens: {over[1]} > {over[2]}, which is the maximum allowed number of output tokens"
    if not body.startswith("{"):
        return body
    value = json.loads(body)
    return str(value["detail"] if "detail" in value else value["error"]["message"])


@pytest.mark.parametrize("case", ["chat_prefill_thinking.json", "chat_prefill_stream.sse"])
def test_a_prefill_is_not_repeated(case: str, assemblies: dict[str, Assembly]) -> None:
    recorded = json.loads((WIRE / "llama_cpp" / f"{case.partition('.')[0]}.request.json").read_bytes())
    request = {"messages": recorded["messages"]}
    body = (WIRE / "llama_cpp" / case).read_bytes()
    for mode, reply in assert_split_invariant(assemblies["llama_cpp"], body, request=request, cuts=CUTS).items():
        assert joined(reply.message, "text") == TEN.removeprefix("1, 2, 3,"), mode
