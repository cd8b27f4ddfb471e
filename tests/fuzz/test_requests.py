"""Whatever a client sends, it gets an answer or a refusal in its envelope: never a 500, never silence."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from core.testing import fold
from core.testing.fold import fold_json
from core.testing.split import cut
from tests.fuzz.bodies import GOOD, bodies
from tests.fuzz.door import Sent, application, ask
from tests.fuzz.mutations import written
from tests.fuzz.profile import fuzz

WITHIN = 20.0
Headers = Sequence[tuple[bytes, bytes]]
PATHS = (b"/v1/messages", b"/v1/messages", b"/v1/messages", b"/v1/messages/count_tokens")
HEADERS = (
    (b"content-type", b"application/json"),
    (b"content-type", b"text/plain; charset=latin-1"),
    (b"content-length", b"7"),
    (b"transfer-encoding", b"chunked"),
    (b"content-encoding", b"gzip"),
    (b"anthropic-version", b"2023-06-01"),
    (b"anthropic-version", b"\xff"),
    (b"anthropic-beta", b",,\t;interleaved-thinking-2025-05-14"),
    (b"authorization", b"Bearer \xff\xfe"),
    (b"x-api-key", b""),
    (b"accept", b"text/event-stream;q=x"),
    (b"traceparent", b"00-zz-00-01"),
    (b"x-stainless-retry-count", b"-1"),
    (b"host", b"\x00"),
    (b"x-request-id", b"a\tb" * 1000),
)
headers = st.lists(
    st.sampled_from(HEADERS) | st.tuples(st.binary(min_size=1, max_size=12).map(bytes.lower), st.binary(max_size=40)),
    max_size=5,
)
places = st.lists(st.floats(0, 1), max_size=4)


class Stage:
    """One application for many requests."""

    def __init__(self, plugin: str) -> None:
        self._runner = asyncio.Runner()
        self._context = application(plugin)
        self._app = self._runner.run(self._context.__aenter__())

    def play(
        self,
        body: list[bytes],
        *,
        method: str = "POST",
        path: bytes = PATHS[0],
        headers: Headers = (),
        query: bytes = b"",
    ) -> Sent:
        async def run() -> Sent:
            async with asyncio.timeout(WITHIN):
                answer = await ask(self._app, method, path, headers, body, query)
                self._app.gateway.tell()
                return answer

        with capture_logs() as log:
            answer = self._runner.run(run())
        assert [entry["event"] for entry in log if entry["event"] != "server_tool_dropped"] == ["request"], log
        return answer

    def close(self) -> None:
        self._runner.run(self._context.__aexit__(None, None, None))
        self._runner.close()


@pytest.fixture
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    made = Stage(request.param)
    yield made
    made.close()


@pytest.mark.parametrize("stage", ["vllm", "openai", "llama_cpp", "ollama", "gemini", "mistral"], indirect=True)
def test_any_body(stage: Stage) -> None:
    @fuzz(120)
    @given(bodies(), st.sampled_from(PATHS), headers, places)
    @example(b'{"a":' * 50_000, PATHS[0], [], [])
    @example(b"[" * 200_000, PATHS[0], [], [])
    def check(body: bytes, path: bytes, sent: list[tuple[bytes, bytes]], cuts: list[float]) -> None:
        pieces = cut(body, sorted({int(place * len(body)) for place in cuts} - {0, len(body)}))
        hold(stage.play(pieces, path=path, headers=sent))

    check()


@pytest.mark.parametrize("number", range(len(GOOD)))
@pytest.mark.parametrize("stage", ["vllm"], indirect=True)
def test_the_good_ones_are_good(stage: Stage, number: int) -> None:
    answer = stage.play([written(GOOD[number])])
    hold(answer)
    assert answer.status == 200, answer.body


@pytest.mark.parametrize("stage", ["vllm"], indirect=True)
def test_any_path_and_method(stage: Stage) -> None:
    words = st.sampled_from(
        ("v1", "messages", "models", "count_tokens", "", "..", "%2f", "%", "m", "batches", "healthz")
    )
    known = st.sampled_from(("/v1/models", "/v1/models/m", "/v1/models/m/", "/v1/messages", "/v1"))
    paths = known | st.lists(words | st.text(max_size=5), max_size=5).map(lambda parts: "/" + "/".join(parts))

    @fuzz(250)
    @given(
        st.sampled_from(("GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "X")),
        paths,
        st.binary(max_size=20),
        headers,
    )
    def check(method: str, path: str, query: bytes, sent: list[tuple[bytes, bytes]]) -> None:
        if path in ("/healthz", "/readyz"):
            return
        answer = stage.play([], method=method, path=path.encode("utf-8", "surrogatepass"), headers=sent, query=query)
        if method != "HEAD":
            hold(answer)

    check()


def hold(answer: Sent) -> None:
    """What must hold of every answer."""
    assert answer.ended
    assert answer.status == 200 or 400 <= answer.status < 500, answer
    assert re.fullmatch(r"req_[0-9a-f]{24}", answer.headers["request-id"])
    assert "Traceback" not in answer.body.decode()
    if answer.headers["content-type"].startswith("text/event-stream"):
        assert fold(answer.body).error is None
        return
    value = json.loads(answer.body)
    if answer.status >= 400:
        assert fold_json(answer.body).error is not None
        assert value["request_id"] == answer.headers["request-id"]
    elif value.get("type") == "message":
        fold_json(answer.body)
    else:
        assert "input_tokens" in value or "data" in value or value.get("type") == "model"
