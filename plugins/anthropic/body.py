"""The body of `POST /messages` and `/messages/count_tokens`, as it comes and as a core.request.Request."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import attrs
from cattrs import Converter

from core import Message, OtherTool, Request, Task, TextBlock, ThinkingConfig, Tool, ToolChoice
from plugins.anthropic.blocks import content_hook, system_hook
from plugins.anthropic.scalars import Hook, Range
from plugins.anthropic.structure import class_hook, list_of, tagged
from plugins.anthropic.tools import choice_hook, tool_hook
from plugins.anthropic.turns import Effort, message_hook

Display = Literal["summarized", "omitted", "updates"]


@attrs.frozen
class Metadata:
    """`metadata`."""

    user_id: str = ""


@attrs.frozen
class OutputFormat:
    """`output_config.format` of type `json_schema`."""

    schema: dict[str, Any]


@attrs.frozen
class OutputConfig:
    """`output_config`."""

    effort: Effort | None = None
    format: OutputFormat | None = None


@attrs.frozen
class Thinking:
    """`thinking`, but for its type."""

    display: Display = "summarized"


@attrs.frozen
class EnabledThinking:
    """`thinking` of type `enabled`; its budget may exceed max_tokens, as agents send it and upstreams take it."""

    budget_tokens: Annotated[int, Range(1024)]
    display: Display = "summarized"


@attrs.frozen
class Body:
    """The fields we know; all others are passed over."""

    model: str
    messages: tuple[Message, ...]
    max_tokens: Annotated[int, Range(0)] | None = None
    stream: bool = False
    system: tuple[TextBlock, ...] = ()
    temperature: Annotated[float, Range(0, 1)] | None = None
    top_p: Annotated[float, Range(0, 1)] | None = None
    top_k: Annotated[int, Range(0)] | None = None
    stop_sequences: tuple[str, ...] = ()
    tools: tuple[Tool | OtherTool, ...] = ()
    tool_choice: ToolChoice | None = None
    thinking: ThinkingConfig | None = None
    output_config: OutputConfig = attrs.field(factory=OutputConfig)
    output_format: OutputFormat | None = None  # where output_config.format was before it was final
    metadata: Metadata = attrs.field(factory=Metadata)

    def request(self, task: Task, owner: str = "") -> Request:
        """The canonical request, and whose it is."""
        form = self.output_config.format or self.output_format
        return Request(
            task=task,
            model=self.model,
            messages=self.messages,
            system=self.system,
            max_tokens=self.max_tokens,
            stream=self.stream and task == "message",
            temperature=self.temperature,
            top_p=self.top_p,
            top_k=self.top_k,
            stop_sequences=tuple(dict.fromkeys(self.stop_sequences)),
            tools=self.tools,
            tool_choice=self.tool_choice,
            thinking=self.thinking,
            effort=self.output_config.effort,
            output_schema=form.schema if form else None,
            user_id=self.metadata.user_id,
            owner=owner,
        )


def body_hook(converter: Converter) -> Hook:
    """A hook for the whole body; gives a Body."""
    form = tagged({"json_schema": class_hook(converter, OutputFormat)})
    return class_hook(
        converter,
        Body,
        messages=list_of(message_hook(converter, content_hook(converter))),
        system=system_hook(converter),
        tools=list_of(tool_hook(converter)),
        tool_choice=choice_hook(converter),
        thinking=_thinking_hook(converter),
        output_config=class_hook(converter, OutputConfig, format=form),
        output_format=form,
    )


def _thinking_hook(converter: Converter) -> Hook:
    plain, enabled = class_hook(converter, Thinking), class_hook(converter, EnabledThinking)

    def structure(value: dict[str, Any], _: Any) -> ThinkingConfig:
        mode = value["type"]
        thinking: Thinking | EnabledThinking = (enabled if mode == "enabled" else plain)(value, None)
        budget = thinking.budget_tokens if isinstance(thinking, EnabledThinking) else 0
        return ThinkingConfig(mode, budget, thinking.display)

    return tagged(dict.fromkeys(("enabled", "adaptive", "disabled", "between_tools"), structure))
