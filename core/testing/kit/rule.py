"""`Rule`: one thing that must be true of a backend, and what a rule says when it is not."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import attrs

from core.testing.kit.facts import EngineFacts

if TYPE_CHECKING:
    from core.testing.kit.bench import Bench

_RAISED: Final = re.compile(r"^(?:\s+\| )?([A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Group)\b.*)$", re.MULTILINE)

Hint = Callable[[EngineFacts], str]
"""What an author may do about a failure, where the facts are these; "": nothing in particular."""


@attrs.frozen
class Rule:
    """One rule: its name, what it says (one sentence), its check, and for which engines it is.

    The check raises AssertionError with a sentence for what is not so; whatever else it raises is a failure, too.
    `needs` names the facts without which it does not apply; `hint` is added to a failure.
    """

    name: str
    says: str
    check: Callable[[Bench], None] = attrs.field(repr=False)
    applies: Callable[[EngineFacts], bool] = attrs.field(repr=False)
    needs: str = attrs.field(default="", repr=False)
    hint: Hint = attrs.field(default=lambda _: "", repr=False)

    def __str__(self) -> str:
        return self.name


def rule(
    applies: Callable[[EngineFacts], bool] = lambda _: True, *, needs: str = "", hint: Hint = lambda _: ""
) -> Callable[[Callable[[Bench], None]], Rule]:
    """Make a rule of a function: its name is the rule's, its docstring what the rule says."""

    def make(check: Callable[[Bench], None]) -> Rule:
        says = " ".join((check.__doc__ or "").split())
        return Rule(check.__name__.replace("_", "-"), says, check, applies, needs, hint)

    return make


def unless(**facts: Any) -> Hint:
    """The hint at facts that may have been left at their default; one given as `...` is for the author to fill in."""
    said = ", ".join(f"{name}={'…' if value is ... else repr(value)}" for name, value in facts.items())

    def hint(given: EngineFacts) -> str:
        left = all(getattr(given, name) == getattr(EngineFacts(), name) for name in facts)
        return f"or, where the engine is not so, say EngineFacts({said})" if left else ""

    return hint


def sentence_of(error: BaseException) -> str:
    """What a failed check has to say, in one line."""
    error = next(leaves(error))
    text = str(error).strip()
    head = text.partition("\n")[0]
    if isinstance(error, AssertionError) and head.endswith("the gateway failed:"):
        raised = _RAISED.findall(text)
        said = f"the plugin raised {raised[-1].strip()}" if raised else "the gateway failed"
        return head.removesuffix("the gateway failed:") + said
    if isinstance(error, AssertionError) and text:
        return head
    last = traceback.extract_tb(error.__traceback__)[-1:]
    where = f" (in {last[0].name}, line {last[0].lineno} of {last[0].filename.rpartition('/')[2]})" if last else ""
    return f"{type(error).__name__} was raised: {head or 'without a word'}{where}"


def leaves(error: BaseException) -> Iterator[BaseException]:
    """The exceptions of a group, or the one that is none."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from leaves(inner)
    else:
        yield error
