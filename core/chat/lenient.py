"""A call that is made again without its reasoning switches when the model does not have them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any, Final

import attrs

from core.chat.call import Call
from core.chat.completion import Chunk
from core.errors import UpstreamError

_SAYS_SO: Final = re.compile(r"think|reason", re.IGNORECASE)


@attrs.frozen(eq=False)
class LenientCall(Call):
    """For servers whose models differ: what one takes as a wish to think more or less, another refuses with a 400.

    `switches` are the body's fields that only say how to reason. A refusal that speaks of reasoning, or names one of
    them, is answered by the same request without the ones it names (all, when it names none). An answer without the
    wished effort serves the client better than none; every other refusal is the client's.
    """

    switches: tuple[str, ...] = ("reasoning_effort",)
    _dropped: frozenset[str] = frozenset()

    def body(self) -> dict[str, Any]:
        """The request's JSON body, without what was refused."""
        return {key: value for key, value in super().body().items() if key not in self._dropped}

    async def begin(self) -> AsyncIterator[list[Chunk]]:
        """Send the request, and once more without what is refused; the chunks of its answer."""
        try:
            return await super().begin()
        except UpstreamError as error:
            refused = self._refused(error)
            if not refused:
                raise
        return await attrs.evolve(self, dropped=self._dropped | refused).begin()

    def _refused(self, error: UpstreamError) -> frozenset[str]:
        sent = frozenset(self.switches) & self.body().keys()
        named = frozenset(switch for switch in sent if switch in error.message)
        if error.kind != "invalid_request" or not (named or _SAYS_SO.search(error.message)):
            return frozenset()
        return named or sent
