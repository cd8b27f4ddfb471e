"""What a body must also obey when every field has the right type. Each function raises RequestError.

The wordings are those that clients know from the API itself; some clients act on them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from core import Block, Message, OtherBlock, Request, RequestError, TextBlock, Tool, ToolResultBlock, ToolUseBlock
from plugins.anthropic.foreign import foreign_call

Place = tuple[int, int, Block]
"""A block with the index of its message and its own index there."""


MAX_MESSAGES: Final = 100_000
"""The API's own bound."""


def check(request: Request) -> None:
    """All rules for one request, in the order of the body's fields."""
    if not request.model:
        raise RequestError("model: String should have at least 1 character")
    if request.task == "message" and request.max_tokens is None:
        raise RequestError("max_tokens: Field required")
    if not request.messages:
        raise RequestError("messages: at least one message is required")
    if len(request.messages) > MAX_MESSAGES:
        raise RequestError(f"messages: at most {MAX_MESSAGES} messages are allowed, got {len(request.messages)}")
    if any(not sequence.strip() for sequence in request.stop_sequences):
        raise RequestError("stop_sequences: each stop sequence must contain non-whitespace")
    check_system_turns(request.messages)
    check_tools(request)
    check_pairing(request.messages)


def check_system_turns(messages: Sequence[Message]) -> None:
    """A system turn holds text; blocks that nobody knows yet pass, for it is where betas put theirs."""
    for index, message in enumerate(messages):
        for at, block in enumerate(message.content if message.role == "system" else ()):
            if not isinstance(block, TextBlock | OtherBlock):
                raise RequestError(f"messages.{index}.content.{at}: a `system` message holds `text` blocks alone")


def check_tools(request: Request) -> None:
    """Each tool has a name but those that their type names; names are unique, and a forced tool is among them."""
    for number, tool in enumerate(request.tools):
        if isinstance(tool, Tool) and not tool.name:
            raise RequestError(f"tools.{number}.custom.name: String should have at least 1 character")
    names = Counter(tool.name for tool in request.tools if tool.name)
    if any(count > 1 for count in names.values()):
        raise RequestError("tools: Tool names must be unique.")
    choice = request.tool_choice
    if choice is not None and choice.mode == "tool" and choice.name not in names:
        raise RequestError(f"tool_choice: Tool {choice.name!r} not found in provided tools")


def check_pairing(messages: Sequence[Message]) -> None:
    """Every call of an assistant turn is answered once in the user turn that follows, and nothing else is answered.

    A turn is a run of messages of one role; system messages in between are looked through. Calls that another
    provider's server made need no result here, and may have one.
    """
    calls: dict[str, int] = {}  # the calls that wait for their results: id -> index of the message
    foreign: set[str] = set()
    for role, turn in _turns(messages):
        if role == "assistant":
            _refuse_unanswered(calls)
            calls = _calls(turn)
            foreign.update(filter(None, (foreign_call(block) for _, _, block in turn)))
        else:
            _take_results(turn, calls, foreign)
            _refuse_unanswered(calls)
            calls = {}
    _refuse_unanswered(calls)


def _turns(messages: Sequence[Message]) -> Iterator[tuple[str, list[Place]]]:
    spoken = ((index, message) for index, message in enumerate(messages) if message.role != "system")
    for role, run in groupby(spoken, key=lambda item: item[1].role):
        yield role, [(index, at, block) for index, message in run for at, block in enumerate(message.content)]


def _calls(turn: list[Place]) -> dict[str, int]:
    calls: dict[str, int] = {}
    for index, at, block in turn:
        if isinstance(block, ToolUseBlock):
            # Only within a turn: some engines number their calls anew in each answer, and pairing is still clear.
            if block.id in calls:
                raise RequestError(f"messages.{index}.content.{at}: `tool_use` ids must be unique")
            calls[block.id] = index
        elif isinstance(block, ToolResultBlock):
            raise RequestError(f"messages.{index}.content.{at}: `tool_result` blocks can only be in `user` messages")
    return calls


def _take_results(turn: list[Place], calls: dict[str, int], foreign: set[str]) -> None:
    """Cross off the calls that the turn answers."""
    answered = set()
    for index, at, block in turn:
        place = f"messages.{index}.content.{at}"
        if isinstance(block, ToolUseBlock):
            raise RequestError(f"{place}: `tool_use` blocks can only be in `assistant` messages")
        if not isinstance(block, ToolResultBlock) or block.tool_use_id in foreign - calls.keys():
            continue
        if block.tool_use_id in answered:
            raise RequestError(
                f"{place}: each `tool_use` must have a single result. "
                f"Found multiple `tool_result` blocks with id: {block.tool_use_id}"
            )
        if block.tool_use_id not in calls:
            raise RequestError(
                f"{place}: unexpected `tool_use_id` found in `tool_result` blocks: {block.tool_use_id}. Each "
                "`tool_result` block must have a corresponding `tool_use` block in the previous message."
            )
        del calls[block.tool_use_id]
        answered.add(block.tool_use_id)


def _refuse_unanswered(calls: dict[str, int]) -> None:
    if calls:
        index = next(iter(calls.values()))
        raise RequestError(
            f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(calls)}. Each `tool_use` block must have a corresponding `tool_result` block in the next "
            "message."
        )
