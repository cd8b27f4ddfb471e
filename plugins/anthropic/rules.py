"""What a body must also obey when every field has the right type. Each function raises RequestError.

The wordings are those that clients know from the API itself; some clients act on them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from core import Message, OtherBlock, Request, RequestError, TextBlock, Tool, ToolResultBlock, ToolUseBlock
from plugins.anthropic.foreign import foreign_call

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
    for index, message in [each for each in enumerate(messages) if each[1].role == "system"]:
        for at, block in enumerate(message.content):
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
    answered: set[str] = set()
    foreign: set[str] = set()
    role = ""
    for index, message in enumerate(messages):
        if message.role == "system":
            continue
        if message.role == "assistant":
            if role != "assistant":
                _refuse_unanswered(calls)
                answered = set()
            _add_calls(index, message, calls, foreign)
        else:
            _take_results(index, message, calls, answered, foreign)
        role = message.role
    _refuse_unanswered(calls)


def _add_calls(index: int, message: Message, calls: dict[str, int], foreign: set[str]) -> None:
    """Note the calls that a message of the model makes."""
    for at, block in enumerate(message.content):
        if isinstance(block, ToolUseBlock):
            # Only within a turn: some engines number their calls anew in each answer, and pairing is still clear.
            if block.id in calls:
                raise RequestError(f"messages.{index}.content.{at}: `tool_use` ids must be unique")
            calls[block.id] = index
        elif isinstance(block, ToolResultBlock):
            raise RequestError(f"messages.{index}.content.{at}: `tool_result` blocks can only be in `user` messages")
        elif identity := foreign_call(block):
            foreign.add(identity)


def _take_results(index: int, message: Message, calls: dict[str, int], answered: set[str], foreign: set[str]) -> None:
    """Cross off the calls that a message answers; `answered` are those that its turn has crossed off so far."""
    for at, block in enumerate(message.content):
        if isinstance(block, ToolUseBlock):
            raise RequestError(f"messages.{index}.content.{at}: `tool_use` blocks can only be in `assistant` messages")
        if not isinstance(block, ToolResultBlock):
            continue
        identity = block.tool_use_id
        if identity in calls:
            del calls[identity]
            answered.add(identity)
        elif identity not in foreign:
            raise RequestError(f"messages.{index}.content.{at}: {_unpaired(identity, answered)}")


def _unpaired(identity: str, answered: set[str]) -> str:
    if identity in answered:
        return f"each `tool_use` must have a single result. Found multiple `tool_result` blocks with id: {identity}"
    return (
        f"unexpected `tool_use_id` found in `tool_result` blocks: {identity}. Each "
        "`tool_result` block must have a corresponding `tool_use` block in the previous message."
    )


def _refuse_unanswered(calls: dict[str, int]) -> None:
    if calls:
        index = next(iter(calls.values()))
        raise RequestError(
            f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(calls)}. Each `tool_use` block must have a corresponding `tool_result` block in the next "
            "message."
        )
