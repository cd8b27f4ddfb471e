"""A stage: one scripted upstream for all clients of a session, whose scenes are told apart by the model's name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from core.testing import Exchange, MockUpstream, UpstreamAnswer, UpstreamReply
from core.testing.upstream import Step

TOKENS = 42
"""What the upstream's tokenizer counts, whatever the text."""


class Stage:
    """An upstream that plays one scene per model: each request takes the scene's next step, the last step repeats.

    A tokenizer answers at every path that ends in /tokenize; `counts` are the requests it had.
    """

    def __init__(self) -> None:
        self.upstream = MockUpstream(self._reply)
        self.counts: list[Exchange] = []
        self._scenes: dict[str, tuple[Step, ...]] = {}
        self._requests: dict[str, list[Exchange]] = {}

    @contextmanager
    def open(self) -> Iterator[Stage]:
        """Serve from a thread of its own."""
        with self.upstream.in_thread():
            yield self

    def play(self, model: str, *steps: Step) -> str:
        """Set a model's scene; gives the model back."""
        self._scenes[model] = steps
        self._requests[model] = []
        return model

    def requests(self, model: str) -> list[Exchange]:
        """What reached the upstream in a scene."""
        return self._requests[model]

    def bodies(self, model: str) -> list[dict[str, Any]]:
        """The bodies that reached the upstream in a scene."""
        return [exchange.json for exchange in self._requests[model]]

    def _reply(self, exchange: Exchange) -> UpstreamReply:
        if exchange.path.endswith("/tokenize"):
            self.counts.append(exchange)
            return UpstreamReply.json({"count": TOKENS, "max_model_len": 4096, "tokens": [1] * TOKENS})
        body = exchange.json if exchange.body else {}
        model = body.get("model", "")
        if model not in self._scenes:
            return refusal(404, f"no scene for model {model!r} at {exchange.path}")
        steps, requests = self._scenes[model], self._requests[model]
        step = steps[min(len(requests), len(steps) - 1)]
        requests.append(exchange)
        if isinstance(step, UpstreamAnswer):
            return UpstreamReply.answer(step, stream=bool(body.get("stream")))
        return step if isinstance(step, UpstreamReply) else step(exchange)


def refusal(status: int, message: str, *, word: str = "", **headers: str) -> UpstreamReply:
    """An error as OpenAI's servers send it; `word` is its type and code, headers are written with underscores."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    error = {"message": message, "type": word or "error", "param": None, "code": word or status}
    return UpstreamReply.json({"error": error}, status=status, headers=named)
