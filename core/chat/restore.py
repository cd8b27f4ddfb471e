"""The client's tool names in an answer, where the engine knows the tools under aliases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from core.chat.completion import Chunk, the_choice, the_delta


def restore_names(chunks: Sequence[Chunk], names: Mapping[str, str]) -> None:
    """Put the client's name in the place of each alias, in the chunks themselves; `names` is by alias, {} for none."""
    if names:
        for chunk in chunks:
            for function in _functions(the_delta(the_choice(chunk))):
                name = function.get("name")
                if isinstance(name, str) and name.strip() in names:
                    function["name"] = names[name.strip()]


def _functions(delta: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    calls = delta.get("tool_calls")
    for call in calls if isinstance(calls, list) else [calls]:
        if isinstance(call, dict) and isinstance(call.get("function"), dict):
            yield call["function"]
    if isinstance(delta.get("function_call"), dict):
        yield delta["function_call"]
