"""What the tests of the mapping share: whole pipelines, what reached the upstream, and what came to the client."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import attrs
import httpx
from structlog.testing import capture_logs

from core.request import HTTPRequest
from core.testing import Assembly, Mode, Reply, UpstreamAnswer, assert_split_invariant, fold, fold_json, replayer
from tests.mapping.ends import Script, Sink

BACKENDS = (
    "vllm",
    "sglang",
    "llama_cpp",
    "ollama",
    "lm_studio",
    "lmdeploy",
    "tensorrt_llm",
    "tgi",
    "transformers_serve",
    "openai",
    "azure",
    "deepseek",
    "openrouter",
    "mistral",
    "groq",
    "gemini",
)
HI: dict[str, Any] = {"role": "user", "content": "Hi"}
ASK: dict[str, Any] = {"model": "client-model", "max_tokens": 256, "messages": [HI]}
F: dict[str, Any] = {"name": "f", "description": "Does f.", "input_schema": {"type": "object", "properties": {"x": {}}}}
SENT_F: dict[str, Any] = {
    "type": "function",
    "function": {"name": "f", "description": "Does f.", "parameters": F["input_schema"]},
}
STREAM_FIELDS = ("stream", "stream_options")

Options = Mapping[str, Mapping[str, Any]]


@attrs.frozen
class Got:
    """One exchange: what came to the client, and the requests that reached the upstream."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    requests: Sequence[httpx.Request]

    @property
    def json(self) -> Any:
        """The client's JSON."""
        return json.loads(self.body)

    @property
    def message(self) -> dict[str, Any]:
        """The client's message, put together if it was streamed."""
        return (fold(self.body) if self.body.startswith(b"event:") else fold_json(self.body)).message

    @property
    def sent(self) -> list[Any]:
        """The bodies that reached the upstream."""
        return [json.loads(request.content) for request in self.requests]


class Wire:
    """Pipelines around one backend each, loaded once."""

    def __init__(self) -> None:
        self._assemblies: dict[tuple[str, str], Assembly] = {}

    def assembly(self, backend: str, options: Options | None = None) -> Assembly:
        """The loaded plugins of a backend, with tables of options.

        `dialect` stands for what the backend's own table overrides of its dialect, `backend` for its other keys.
        """
        key = (backend, json.dumps(options, default=str))
        if key not in self._assemblies:
            tables = dict(options or {})
            own = {**tables.pop("backend", {}), "dialect": tables.pop("dialect", {})}
            made = self._assemblies[key] = Assembly([backend], tables)
            made._backend = attrs.evolve(made._backend, **own)
        return self._assemblies[key]

    def sent(self, backend: str = "openai", *, options: Options | None = None, **fields: Any) -> dict[str, Any]:
        """The upstream's body for a client's (completed from ASK), without what says whether to stream.

        Both modes are played, and must differ in that alone.
        """
        whole, stream = (self._play(backend, fields, options, stream=stream) for stream in (False, True))
        bodies = []
        for reply in (whole, stream):
            assert reply.error is None, reply.error
            bodies.append({name: value for name, value in reply.sent.items() if name not in STREAM_FIELDS})
        assert bodies[0] == bodies[1]
        return bodies[0]

    def messages(self, *turns: Mapping[str, Any], backend: str = "openai", **fields: Any) -> list[dict[str, Any]]:
        """The upstream's messages for these turns of a client's."""
        return self.sent(backend, messages=list(turns), **fields)["messages"]  # type: ignore[no-any-return]

    def refused(self, backend: str = "openai", *, options: Options | None = None, **fields: Any) -> str:
        """The message of the 400 that a request gets, streaming or not, before anything reaches the upstream."""
        whole, stream = (self._play(backend, fields, options, stream=stream) for stream in (False, True))
        for reply in (whole, stream):
            assert (reply.status, reply.sent) == (400, None), reply.sent
            assert reply.error is not None
            assert reply.error["type"] == "invalid_request_error"
            assert reply.error == whole.error
        assert whole.error is not None
        return str(whole.error["message"])

    def answer(
        self, answer: UpstreamAnswer | bytes, backend: str = "openai", *, options: Options | None = None, **fields: Any
    ) -> dict[str, Any]:
        """The client's message for an upstream's answer: whole and streamed on both sides, and cut, it is the same."""
        return dict(
            self.replies(answer, backend, options=options, **fields)[Mode(client=False, upstream=False)].message
        )

    def replies(
        self, answer: UpstreamAnswer | bytes, backend: str = "openai", *, options: Options | None = None, **fields: Any
    ) -> dict[Mode, Reply]:
        """The replies of all four modes."""
        replies = assert_split_invariant(self.assembly(backend, options), answer, request={**ASK, **fields}, cuts=())
        assert all(reply.error is None for reply in replies.values())
        return replies

    def events(self, answer: UpstreamAnswer | bytes, backend: str = "openai", **fields: Any) -> list[dict[str, Any]]:
        """The data of the client's events for a streamed answer."""
        body = answer if isinstance(answer, bytes) else answer.sse()
        return events_of(self._play(backend, fields, None, stream=True, pieces=[body]).body)

    def error(self, status: int, body: bytes, *, backend: str = "openai", headers: Any = None) -> Reply:
        """The client's error for an upstream's, the same for both modes."""

        async def run() -> Sequence[Reply]:
            async with replayer(self.assembly(backend)) as player:
                return [
                    await player.play([body], request=ASK, stream=stream, status=status, headers=headers)
                    for stream in (False, True)
                ]

        whole, stream = anyio.run(run)
        assert (whole.status, whole.error) == (stream.status, stream.error)
        assert whole.headers == stream.headers
        return whole

    def ask(
        self,
        path: str = "/v1/messages",
        body: Any = None,
        *replies: httpx.Response | Exception,
        backend: str = "openai",
        options: Options | None = None,
        headers: Mapping[str, str] | None = None,
        query: bytes = b"",
        method: str = "",
    ) -> Got:
        """Any request of a client's, as raw as it gets; the upstream's replies come in order, the last one repeats.

        Without a `body` it is a GET. A reply that is none given is a plain answer.
        """
        network = Script(replies or (completion(),))
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        pairs = [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
        http = HTTPRequest(method or ("GET" if body is None else "POST"), path, "", query, pairs, data, id="req_1")
        sink = Sink()

        async def run() -> None:
            gateway = self.assembly(backend, options).gateway(network)
            async with gateway.running():
                await gateway.handle(http, sink)

        with capture_logs() as log:
            anyio.run(run)
        assert [entry for entry in log if entry["event"] == "fault"] == []
        got = Got(sink.status, sink.headers, sink.body, network.requests)
        assert not path.endswith("/messages") or got.message or got.json["error"]
        return got

    def _play(
        self,
        backend: str,
        fields: Mapping[str, Any],
        options: Options | None,
        *,
        stream: bool,
        pieces: Sequence[bytes] = (),
    ) -> Reply:
        async def run() -> Reply:
            async with replayer(self.assembly(backend, options)) as player:
                given = pieces or [UpstreamAnswer().wire(stream=stream)]
                return await player.play(given, request={**ASK, **fields}, stream=stream)

        return anyio.run(run)


def completion(answer: UpstreamAnswer | None = None, **fields: Any) -> httpx.Response:
    """A whole answer as an HTTP response."""
    return httpx.Response(200, json=(answer or UpstreamAnswer(**fields)).completion())


def events_of(body: bytes) -> list[dict[str, Any]]:
    """The data of a stream's events."""
    return [json.loads(line.removeprefix(b"data: ")) for line in body.split(b"\n") if line.startswith(b"data: ")]


def without_made(blocks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The blocks without their signatures, which are made here."""
    return [{name: value for name, value in block.items() if name != "signature"} for block in blocks]
