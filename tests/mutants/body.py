"""Faults in what is sent."""

from __future__ import annotations

from typing import Any

import attrs

from core import Request, Route, UpstreamCall
from core.chat import Call, UpstreamClient, chat_body
from tests.mutants.reference import DIALECT, Correct

Body = dict[str, Any]


class _Sends(Correct):
    """A backend that sends the body as `change` makes it."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return _Changed(request, route, client, DIALECT, plugin=self)

    def change(self, body: Body, request: Request) -> Body:
        return body


@attrs.frozen(eq=False)
class _Changed(Call):
    plugin: _Sends = attrs.field(kw_only=True)

    def body(self) -> Body:
        return self.plugin.change(super().body(), self.request)


def _without(body: Body, *fields: str) -> Body:
    return {field: value for field, value in body.items() if field not in fields}


class ClientFieldsSent(_Sends):
    """The client's `thinking` is sent as it came, in the protocol of the client."""

    def change(self, body: Body, request: Request) -> Body:
        thinking = request.thinking
        if thinking is None:
            return body
        return {**body, "thinking": {"type": thinking.mode, "budget_tokens": thinking.budget_tokens}}


class StopNotSent(_Sends):
    """The client's stop sequences are not sent."""

    def change(self, body: Body, request: Request) -> Body:
        return _without(body, "stop")


class StopsCut(Correct):
    """More stop sequences than the engine takes are cut in silence, and not refused."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        few = attrs.evolve(request, stop_sequences=request.stop_sequences[: DIALECT.max_stops])
        return Call(few, route, client, DIALECT)


class MaxTokensNotSent(_Sends):
    """The client's token limit is not sent."""

    def change(self, body: Body, request: Request) -> Body:
        return _without(body, "max_tokens")


class MaxTokensRenamed(_Sends):
    """The token limit is sent under a name that this engine does not know."""

    def change(self, body: Body, request: Request) -> Body:
        return {"max_completion_tokens" if field == "max_tokens" else field: value for field, value in body.items()}


class ModelRenamed(_Sends):
    """The client's name of the model is sent, and not the upstream's."""

    def change(self, body: Body, request: Request) -> Body:
        return {**body, "model": request.model}


class ToolsNotSent(_Sends):
    """The client's tools are not sent."""

    def change(self, body: Body, request: Request) -> Body:
        return _without(body, "tools", "tool_choice")


class ToolSchemasEmptied(_Sends):
    """Tools are sent without their schemas."""

    def change(self, body: Body, request: Request) -> Body:
        tools = [{**tool, "function": {**tool["function"], "parameters": {}}} for tool in body.get("tools", ())]
        return {**body, "tools": tools} if tools else body


class ToolChoiceNotSent(_Sends):
    """The client's choice among its tools is not sent."""

    def change(self, body: Body, request: Request) -> Body:
        return _without(body, "tool_choice")


class SystemPromptNotSent(_Sends):
    """The system prompt is not sent."""

    def change(self, body: Body, request: Request) -> Body:
        return {**body, "messages": [message for message in body["messages"] if message["role"] != "system"]}


class HistoryNotSent(_Sends):
    """Of the conversation only the last turn is sent."""

    def change(self, body: Body, request: Request) -> Body:
        system = [message for message in body["messages"] if message["role"] == "system"]
        return {**body, "messages": [*system, body["messages"][-1]]}


class ToolResultsNotSent(_Sends):
    """The results of tools are not sent."""

    def change(self, body: Body, request: Request) -> Body:
        return {**body, "messages": [message for message in body["messages"] if message["role"] != "tool"]}


class SamplingNotSent(_Sends):
    """Temperature, top_p and top_k are not sent."""

    def change(self, body: Body, request: Request) -> Body:
        return _without(body, "temperature", "top_p", "top_k")


class UsageNotAskedFor(_Sends):
    """A stream is not asked for its token counts."""

    def change(self, body: Body, request: Request) -> Body:
        return _without(body, "stream_options")


class ThinkingSwitchNotSent(_Sends):
    """The client's wish for thinking, or for none, is not sent."""

    def change(self, body: Body, request: Request) -> Body:
        return _without(body, "chat_template_kwargs")


class ReasoningNotSentBack(Correct):
    """The reasoning of earlier turns is not sent back to an engine that wants it."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return Call(request, route, client, attrs.evolve(DIALECT, reasoning_history=""))


@attrs.frozen(eq=False)
class _OwnBody(Call):
    def body(self) -> Body:
        dialect = self.client.dialect(self.dialect)
        return chat_body(self.request, candidate=self.route.candidates[0], dialect=dialect, stream=self._streams())


class ExtraBodyIgnored(Correct):
    """The backend's `extra_body` is accepted and not sent."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return _OwnBody(request, route, client, DIALECT)


@attrs.frozen(eq=False)
class _OwnDialect(Call):
    def body(self) -> Body:
        return chat_body(
            self.request,
            candidate=self.route.candidates[0],
            dialect=self.dialect,
            stream=self._streams(),
            extra=self.client.backend.extra_body,
        )


class DialectTableIgnored(Correct):
    """The single dialect fields of the backend's table are accepted and not used."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return _OwnDialect(request, route, client, DIALECT)


@attrs.frozen(eq=False)
class _AlwaysStreams(Call):
    def _streams(self) -> bool:
        return True


class StreamSettingIgnored(Correct):
    """The upstream is always asked for a stream, whatever the backend's table says."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        return _AlwaysStreams(request, route, client, DIALECT)


class CountsByGenerating(Correct):
    """A request to count tokens generates an answer."""

    def call(self, request: Request, route: Route, client: UpstreamClient) -> UpstreamCall:
        if request.task == "count_tokens":
            request = attrs.evolve(request, task="message", max_tokens=1)
        return Call(request, route, client, DIALECT)
