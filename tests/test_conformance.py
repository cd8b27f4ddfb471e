"""Every backend of ours under every rule of the kit that plugin authors run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs
import pytest

from core import Request, Route, hookimpl
from core.chat import Call, UpstreamClient
from core.testing import MATCH, EngineFacts, conformance
from plugins.demo import DIALECT, Demo

TEMPLATE_ON: Final = {"chat_template_kwargs": {"enable_thinking": True}}
TEMPLATE_OFF: Final = {"chat_template_kwargs": {"enable_thinking": False}}
EITHER: Final = ("reasoning",)


@attrs.frozen(eq=False)
class DemoOnTheWire(Demo):
    """The demo's translators behind a real call: its engine's shapes, served over HTTP."""

    @hookimpl
    def call_upstream(self, request: Request, route: Route, client: UpstreamClient) -> Call:  # type: ignore[override]
        return Call(request, route, client, DIALECT)


def as_parts(delta: dict[str, Any]) -> dict[str, Any]:
    """Mistral's way: reasoning is a part of the content."""
    thought = delta.pop("reasoning_content", None)
    if not thought:
        return delta
    parts: list[dict[str, Any]] = [{"type": "thinking", "thinking": [_said(thought[:2]), _said(thought[2:])]}]
    if delta.get("content"):
        parts.append({"type": "text", "text": delta["content"]})
    return {**delta, "content": parts}


def _said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


MISTRAL_TAKES: Final = (
    *("model", "messages", "max_tokens", "temperature", "top_p", "stop", "stream", "tools", "tool_choice"),
    *("parallel_tool_calls", "response_format", "reasoning_effort", "prompt_mode", "random_seed"),
)

ENGINES: Final[Mapping[str, EngineFacts]] = {
    "azure": EngineFacts(reasoning_also=EITHER, max_tokens_field="max_completion_tokens", key_header="api-key"),
    "deepseek": EngineFacts(
        schema=False,
        images=False,
        reasoning_history="reasoning_content",
        thinking_on={"thinking": {"type": "enabled"}},
        thinking_off={"thinking": {"type": "disabled"}},
    ),
    "gemini": EngineFacts(
        reasoning_field="",
        keep_in_calls=("extra_content",),
        max_stops=5,
        foreign_call={"extra_content": {"google": {"thought_signature": "skip_thought_signature_validator"}}},
        thinking_off={"reasoning_effort": "none"},
        no_thinking="Reasoning effort is not supported for this model.",
    ),
    "groq": EngineFacts(reasoning_field="reasoning", thinking_off={"reasoning_effort": "none"}),
    "llama_cpp": EngineFacts(
        stop_top={"__verbose": {"stop_type": "word", "stopping_word": MATCH}},
        top_k=True,
        count="input_tokens",
    ),
    "lm_studio": EngineFacts(
        reasoning_also=EITHER,
        top_k=True,
        reasoning_history="reasoning_content",
        thinking_off={"reasoning_effort": "none"},
    ),
    "lmdeploy": EngineFacts(
        top_k=True, reasoning_history="reasoning_content", thinking_on=TEMPLATE_ON, thinking_off=TEMPLATE_OFF
    ),
    "mistral": EngineFacts(
        rewrite=as_parts,
        allowed_fields=MISTRAL_TAKES,
        tool_id_pattern="[a-zA-Z0-9]{9}",
        no_thinking="reasoning_effort is not supported by this model",
        stream_usage=False,
        thinking_on={"reasoning_effort": "high"},
        thinking_off={"reasoning_effort": "none"},
    ),
    "ollama": EngineFacts(
        reasoning_field="reasoning",
        reasoning_history="reasoning",
        tool_choice=False,
        no_thinking='"qwen2.5:3b" does not support thinking',
        thinking_off={"reasoning_effort": "none"},
    ),
    "openai": EngineFacts(reasoning_also=EITHER, max_stops=4),
    "openrouter": EngineFacts(
        reasoning_field="reasoning",
        reasoning_also=("reasoning_content",),
        keep=("reasoning_details",),
        top_k=True,
        reasoning_history="reasoning",
    ),
    "sglang": EngineFacts(
        stop_field="matched_stop",
        max_stops=32,
        top_k=True,
        reasoning_history="reasoning_content",
        count="tokenize",
        thinking_on=TEMPLATE_ON,
        thinking_off=TEMPLATE_OFF,
    ),
    "tensorrt_llm": EngineFacts(
        reasoning_also=EITHER,
        stop_field="stop_reason",
        with_tools={"tool_choice": "auto"},
        top_k=True,
        reasoning_history="reasoning_content",
        thinking_on={"thinking": {"type": "enabled"}},
        thinking_off=TEMPLATE_OFF,
    ),
    "tgi": EngineFacts(reasoning_field="", stop_finish="stop_sequence", tool_ids=False, count="chat_tokenize"),
    "transformers_serve": EngineFacts(
        done=False,
        stream_usage=False,
        schema=False,
        tool_choice=False,
        thinking_on=TEMPLATE_ON,
        thinking_off=TEMPLATE_OFF,
    ),
    "vllm": EngineFacts(
        reasoning_field="reasoning",
        reasoning_also=("reasoning_content",),
        stop_field="stop_reason",
        max_stops=4,
        top_k=True,
        reasoning_history="reasoning",
        count="tokenize",
        thinking_on=TEMPLATE_ON,
        thinking_off=TEMPLATE_OFF,
    ),
}


@pytest.mark.parametrize("name", ENGINES)
def test_a_backend_of_ours_holds_every_rule(name: str) -> None:
    conformance(name, engine=ENGINES[name]).assert_ok()


def test_reasoning_between_tags_holds_every_rule() -> None:
    facts = EngineFacts(reasoning_field="", tags=("<think>", "</think>"), tool_choice=False)
    conformance("ollama", "think_tags", engine=facts).assert_ok()


def test_the_demo_holds_every_rule() -> None:
    facts = EngineFacts(stop_field="stop_reason", thinking_on=TEMPLATE_ON, thinking_off=TEMPLATE_OFF)
    conformance(DemoOnTheWire, engine=facts).assert_ok()
