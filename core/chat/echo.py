"""An answer that begins with the turn it continues: the client has that already, and gets what is new."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from core.chat.completion import Chunk
from core.chat.prefill import prefill_of
from core.deltas import Delta, Text, Thinking, Usage
from core.request import Request


class Translator(Protocol):
    """Chunks to deltas; a `Content`, or what wraps one."""

    def feed(self, chunk: Chunk) -> Sequence[Delta]:
        """The deltas of one chunk."""

    def flush(self) -> Sequence[Delta]:
        """What was held."""


def without_echo(content: Translator, request: Request, *, streamed: bool = True) -> Translator:
    """The translator, without the request's prefill in front of the answer where the engine repeats it.

    llama.cpp does so in whole completions, the reasoning of the prefilled turn included; its streams differ from
    version to version. `streamed` says whether a stream of this engine's may do so, too.
    """
    prefill = prefill_of(request)
    if not prefill.text:
        return content
    return Echoless(content, prefill.text, prefill.thinking, streamed=streamed)


class Echoless:
    """Wraps a translator: drops a leading repetition of `text` and of `thinking` from what it gives.

    As long as the answer may still be one, it is held back; where it turns out to be none, it is let go as it came.
    """

    def __init__(self, content: Translator, text: str, thinking: str = "", *, streamed: bool = True) -> None:
        self._content = content
        self._streamed = streamed
        # Templates trim reasoning, and set it off with blank lines.
        self._thinking = _Lead(thinking.strip(), blanks=True)
        self._text = _Lead(text)

    def feed(self, chunk: Chunk) -> Sequence[Delta]:
        """The deltas of one chunk that are new."""
        deltas = self._content.feed(chunk)
        if self._text.passed and self._thinking.passed:
            return deltas
        if not self._streamed and chunk.get("object") == "chat.completion.chunk":
            return deltas
        return self._new(deltas)

    def flush(self) -> Sequence[Delta]:
        """What was held here and inside."""
        out = self._new(self._content.flush())
        self._let_go(out)
        return out

    def _new(self, deltas: Sequence[Delta]) -> list[Delta]:
        out: list[Delta] = []
        for delta in deltas:
            if isinstance(delta, Text):
                self._let_go_thinking(out)
                out += [Text(new)] if (new := self._text.feed(delta.text)) else []
            elif isinstance(delta, Thinking):
                self._let_go_text(out)
                out += [Thinking(new)] if (new := self._thinking.feed(delta.text)) else []
            else:
                if not isinstance(delta, Usage):
                    self._let_go(out)
                out.append(delta)
        return out

    def _let_go(self, out: list[Delta]) -> None:
        self._let_go_thinking(out)
        self._let_go_text(out)

    def _let_go_thinking(self, out: list[Delta]) -> None:
        out += [Thinking(held)] if (held := self._thinking.flush()) else []

    def _let_go_text(self, out: list[Delta]) -> None:
        out += [Text(held)] if (held := self._text.flush()) else []


class _Lead:
    """Text in pieces, without what is expected in front of it; with `blanks`, without blanks behind that either."""

    def __init__(self, expected: str, *, blanks: bool = False) -> None:
        self._expected = expected
        self._blanks = blanks
        self._held = ""
        self.passed = not expected

    def feed(self, text: str) -> str:
        """What can be given of it."""
        if self.passed:
            return text
        self._held += text
        if not self._held.startswith(self._expected):
            return "" if self._expected.startswith(self._held) else self.flush()
        rest = self._held[len(self._expected) :]
        rest = rest.lstrip() if self._blanks else rest
        if rest or not self._blanks:
            self._held, self.passed = "", True
        return rest

    def flush(self) -> str:
        """What is held, as something else follows: it was no repetition, or a whole one."""
        held, self._held = self._held, ""
        self.passed = self.passed or bool(held)
        return "" if held.startswith(self._expected) else held
