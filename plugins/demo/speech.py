"""What the demo engine thinks and says: made from the prompt alone, the same for the same prompt."""

from __future__ import annotations

import re

import attrs
import orjson

from plugins.demo.ask import Ask
from plugins.demo.fill import fill
from plugins.demo.tools import ToolCall, tool_calls

FURTHEST = 10_000
"""The most numbers that are counted in one answer."""

_COUNT = re.compile(
    r"\bcount\b(?:\s+up|\s+down)?(?:\s+from)?(?:\s+(-?[0-9]{1,9}))?\s+to\s+(-?[0-9]{1,9})\b", re.IGNORECASE
)
_REPEAT = re.compile(r"^(?:please )?(?:say|repeat|echo)(?: after me)?: ?(.*)", re.IGNORECASE | re.DOTALL | re.MULTILINE)


@attrs.frozen
class Draft:
    """A whole answer, before any limit."""

    reasoning: str
    content: str
    calls: tuple[ToolCall, ...] = ()


def draft(ask: Ask) -> Draft:
    """The answer to a request."""
    if ask.results and ask.forced is None:
        said = "\n".join(f"The tool says: {result}" for result in ask.results)
        return Draft("The tool has answered. I pass on what it says.", said)
    if calls := tool_calls(ask):
        names = " and ".join(call.name for call in calls)
        return Draft(f"The user asks for something that a tool can do. I should call {names}.", "", tuple(calls))
    if ask.schema is not None:
        return Draft("The answer must be JSON. I fill in its schema.", _json(ask))
    if match := _REPEAT.search(ask.text):
        return Draft("The user wants me to repeat a text. I say it as it is.", match[1])
    if match := _COUNT.search(ask.text):
        return _counted(int(match[1] or 1), int(match[2]))
    return _friendly(ask.text)


def _json(ask: Ask) -> str:
    try:
        return orjson.dumps(fill(ask.schema, ask.text)).decode()
    except TypeError:
        return "{}"


def _counted(first: int, last: int) -> Draft:
    thought = f"The user wants the numbers from {first} to {last}."
    step = 1 if first <= last else -1
    numbers = range(first, last + step, step)
    if len(numbers) > FURTHEST:
        return Draft(thought, f"That is too far: I count at most {FURTHEST} numbers.")
    return Draft(thought, ", ".join(map(str, numbers)))


def _friendly(text: str) -> Draft:
    words = text.split()
    quote = " ".join(words[:12])[:80] + ("…" if len(words) > 12 else "")
    if not quote:
        return Draft("The user says nothing. I greet them.", "Hello! Ask me to count to 10, or to say: something.")
    return Draft(
        f"The user writes “{quote}”. I am only a demo, so I say what I can do.",
        f"Hello! You wrote “{quote}”. I am the demo: I count, repeat what you say, and call your tools.",
    )
