from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import attrs
import httpx
import pytest

from core import ConfigError, ImageBlock, Message, Request, hookimpl
from core.chat import Dialect
from core.request import HTTPRequest
from core.testing import Assembly, MockUpstream, Reply, UpstreamAnswer, UpstreamReply, replayer
from plugins.fetch_urls import FetchURLs
from tests.core.chat.pdfs import pdf_of
from tests.mapping.ends import Sink
from tests.plugins.fetch_urls.place import PDF, PNG

pytestmark = pytest.mark.anyio

IMAGE = UpstreamReply(PNG, content_type="image/png")
PART = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{b64encode(PNG).decode()}"}}
CALL = {"role": "assistant", "content": [{"type": "tool_use", "id": "callabcd1", "name": "f", "input": {}}]}
F = {"name": "f", "input_schema": {"type": "object"}}


def linked(url: str, kind: str = "image") -> dict[str, Any]:
    return {"type": kind, "source": {"type": "url", "url": url}}


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(content)}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def options(server: MockUpstream, **more: Any) -> Mapping[str, Mapping[str, Any]]:
    """Options that let the server, which is on this machine, be fetched from."""
    port = int(server.root.rpartition(":")[2])
    return {"fetch_urls": {"allow_http": True, "ports": [port], "networks": ["127.0.0.0/8"], **more}}


@attrs.define
class Play:
    """A gateway before one engine, and the server of files."""

    files: MockUpstream
    player: Any

    async def __call__(self, *turns: Mapping[str, Any], **fields: Any) -> Reply:
        request = {"messages": list(turns), "tools": [F], **fields}
        return await self.player.play([UpstreamAnswer().wire(stream=False)], request=request)  # type: ignore[no-any-return]


@asynccontextmanager
async def playing(engine: str, *script: UpstreamReply, **more: Any) -> AsyncIterator[Play]:
    async with (
        MockUpstream(*script) as files,
        replayer(Assembly([engine, "fetch_urls"], options(files, **more))) as player,
    ):
        yield Play(files, player)


def sent(reply: Reply) -> Sequence[Any]:
    assert reply.error is None, reply.error
    return reply.sent["messages"]  # type: ignore[no-any-return]


async def test_an_image_by_url_reaches_the_engine_as_data() -> None:
    async with playing("ollama", IMAGE) as play:
        url = f"{play.files.root}/a.png?sig=1"
        reply = await play(user(text("See"), linked(url), linked(url)))
        assert sent(reply) == [user(text("See"), PART, PART)]
        assert [exchange.path for exchange in play.files.exchanges] == ["/a.png?sig=1"]
        told = play.files.exchanges[0].headers
        assert set(told) == {"host", "accept", "accept-encoding", "user-agent", "connection"}


async def test_one_client_s_slow_files_keep_no_other_client_waiting() -> None:
    hold = anyio.Event()
    files = MockUpstream(*[attrs.evolve(IMAGE, hold_head=hold)] * 4, IMAGE)
    async with files:
        plugin = FetchURLs(**options(files, at_once=8)["fetch_urls"])
        dialect = Dialect(images="data")

        async def ask(owner: str, *paths: str) -> None:
            blocks = tuple(ImageBlock(url=f"{files.root}/{path}") for path in paths)
            await plugin.prepare(Request("message", messages=(Message("user", blocks),), owner=owner), dialect)

        async with anyio.create_task_group() as group:
            for number in range(3):
                group.start_soon(ask, "greedy", *(f"slow{number}{letter}" for letter in "abcd"))
            await files.exchange(3)
            with anyio.fail_after(5):
                await ask("modest", "quick1", "quick2", "quick3")
            assert len(files.exchanges) == 4 + 3
            hold.set()
    assert len(files.exchanges) == 12 + 3


def test_a_changed_table_goes_on_with_the_places() -> None:
    before, after = FetchURLs(at_once=3), FetchURLs(at_once=5)
    after.take_over(before)
    assert after._loader._turns is before._loader._turns
    assert after._loader._turns._most == 5


async def test_the_turns_that_follow_fetch_nothing_again() -> None:
    async with playing("ollama", IMAGE) as play:
        first = user(linked(f"{play.files.root}/a.png"))
        said = {"role": "assistant", "content": "I see."}
        await play(first)
        assert sent(await play(first, said, user(text("So?"))))[0] == user(PART)
        assert len(play.files.exchanges) == 1


async def test_an_image_in_a_tool_s_result() -> None:
    async with playing("ollama", IMAGE) as play:
        result = {"type": "tool_result", "tool_use_id": "callabcd1"}
        inner = [text("shot"), linked(f"{play.files.root}/a.png"), linked("https://10.0.0.1/b.png")]
        turns = sent(await play(user(text("Go")), CALL, user({**result, "content": inner})))
    content = [part for turn in turns if isinstance(turn["content"], list) for part in turn["content"]]
    assert PART in content
    (told,) = (turn["content"] for turn in turns if turn["role"] == "tool")
    assert told.startswith("shot")
    assert "[An image was here that cannot be shown: port 443 is not one of those that are fetched from]" in told


async def test_a_document_by_url() -> None:
    pdf = UpstreamReply(pdf_of("Hello page"), content_type="application/pdf")
    for engine, expected in (("vllm", "Hello page"), ("ollama", "Hello page")):
        async with playing(engine, pdf) as play:
            reply = await play(user(linked(f"{play.files.root}/a.pdf", "document")))
            assert sent(reply) == [{"role": "user", "content": expected}]
    async with playing("openai", attrs.evolve(pdf, body=PDF)) as play:
        (part,) = sent(await play(user(linked(f"{play.files.root}/a.pdf", "document"))))[0]["content"]
        assert part["file"]["file_data"] == f"data:application/pdf;base64,{b64encode(PDF).decode()}"


async def test_engines_that_take_urls_get_them() -> None:
    async with playing("vllm", IMAGE) as play:
        (part,) = sent(await play(user(linked("https://10.0.0.1/a.png"))))[0]["content"]
        assert part["image_url"]["url"] == "https://10.0.0.1/a.png"
        assert play.files.exchanges == []


async def test_engines_that_take_no_images_refuse_as_before() -> None:
    async with playing("deepseek", IMAGE) as play:
        reply = await play(user(linked(f"{play.files.root}/a.png")))
        assert reply.error is not None
        assert reply.error["message"] == "messages.0.content.0.source: this model takes no images"
        assert play.files.exchanges == []


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://169.254.169.254/latest/meta-data/", "port 80 is not one of those that are fetched from"),
        ("http://10.0.0.1:{port}/", "its host has no public address"),
        ("http://[::1]:{port}/", "its host has no public address"),
        ("http://2130706433:{port}/", "its host is no name of a host"),
        ("http://x@127.0.0.1:{port}/", "it has a user's name or password, which are never sent"),
        ("ftp://a.example/", "only http and https URLs are fetched"),
    ],
)
async def test_what_is_not_fetched_is_a_400_with_its_place(url: str, why: str) -> None:
    async with playing("ollama", IMAGE) as play:
        reply = await play(user(text("x"), linked(url.format(port=play.files.root.rpartition(":")[2]))))
        assert (reply.status, reply.sent) == (400, None)
        assert reply.error == {
            "type": "invalid_request_error",
            "message": f"messages.0.content.1.image.source.url: {why}",
        }
        assert play.files.exchanges == []


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (UpstreamReply(b"secret", status=500), "its server answered with status 500"),
        (UpstreamReply(b"secret", content_type="text/html"), "it is no PNG, JPEG, GIF or WebP image"),
        (UpstreamReply(PNG * 100, content_type="image/png"), "it has more than 100 bytes"),
        (
            UpstreamReply(b"", status=302, headers={"location": "http://10.0.0.1/"}),
            "it redirects to a URL that is not fetched",
        ),
    ],
)
async def test_nothing_of_the_server_s_answer_is_told(answer: UpstreamReply, why: str) -> None:
    async with playing("ollama", answer, image_bytes=100) as play:
        reply = await play(user(linked(f"{play.files.root}/a.png")))
    assert reply.status == 400
    assert reply.error is not None
    assert reply.error["message"] == f"messages.0.content.0.image.source.url: {why}"


async def test_a_server_that_says_nothing_is_waited_for_so_long() -> None:
    async with playing("ollama", attrs.evolve(IMAGE, hold_head=anyio.Event()), timeout=0.1) as play:
        reply = await play(user(linked(f"{play.files.root}/a.png")))
        assert reply.error is not None
        assert reply.error["message"].endswith("image.source.url: it did not come within 0.1 seconds")
        await play.files.exchanges[0].peer_closed()


async def test_a_client_that_leaves_ends_the_fetch() -> None:
    async with playing("ollama", attrs.evolve(IMAGE, hold_head=anyio.Event())) as play:
        async with anyio.create_task_group() as group:
            group.start_soon(play, user(linked(f"{play.files.root}/a.png")))
            exchange = await play.files.exchange()
            group.cancel_scope.cancel()
        with anyio.fail_after(10):
            await exchange.peer_closed()


async def test_without_the_plugin_nothing_is_fetched_and_it_is_named() -> None:
    async with MockUpstream(IMAGE) as files, replayer(Assembly(["ollama"])) as player:
        play = Play(files, player)
        for kind in ("image", "document"):
            reply = await play(user(linked(f"{files.root}/a", kind)))
            assert reply.status == 400
            assert reply.error is not None
            assert "list" in reply.error["message"]
            assert "the plugin fetch_urls" in reply.error["message"]
        assert files.exchanges == []


async def test_other_wrappers_still_change_the_call() -> None:
    class Cold:
        """A wrapper behind this one."""

        @hookimpl(wrapper=True)
        def call_upstream(self) -> Any:
            call = yield
            return attrs.evolve(call, request=attrs.evolve(call.request, temperature=0.0))

    async with MockUpstream(IMAGE) as files:
        assembly = Assembly(["ollama", "fetch_urls", Cold, "stop_scan"], options(files))
        async with replayer(assembly) as player:
            reply = await Play(files, player)(user(linked(f"{files.root}/a.png")), stop_sequences=["x"])
    assert sent(reply) == [user(PART)]
    assert reply.sent["temperature"] == 0.0
    assert "stop" not in reply.sent


async def test_a_count_asks_the_engine_with_the_data() -> None:
    async with MockUpstream(IMAGE) as files, MockUpstream(UpstreamReply.json({"count": 7})) as engine:
        assembly = Assembly(["vllm", "fetch_urls"], options(files), {"images": "data"})
        network = httpx.AsyncHTTPTransport()
        back = attrs.evolve(assembly._backend, url=engine.url)
        assembly._backend = back
        async with replayer_of(assembly, network) as count:
            assert await count({"messages": [user(linked(f"{files.root}/a.png"))]}) == 7
            assert await count({"messages": [user(linked("https://10.0.0.1/a.png"))]}) > 7, "estimated"
        assert engine.exchanges[0].json["messages"] == [user(PART)]
        assert len(engine.exchanges) == 1


@asynccontextmanager
async def replayer_of(assembly: Assembly, network: httpx.AsyncBaseTransport) -> AsyncIterator[Any]:
    gateway = assembly.gateway(network)

    async def count(fields: Mapping[str, Any]) -> int:
        sink = Sink()
        body = json.dumps({"model": "m", **fields}).encode()
        await gateway.handle(HTTPRequest("POST", "/v1/messages/count_tokens", body=body, id="req_1"), sink)
        return int(json.loads(sink.body)["input_tokens"])

    async with gateway.running():
        yield count


async def test_a_request_without_urls_is_the_same_object() -> None:
    request = Request("message")
    assert await FetchURLs().prepare(request, Dialect(images="data")) is request


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (
            {"networks": ["127.0.0.1/8"]},
            "fetch_urls]: key 'networks': 127.0.0.1/8 has host bits set; write \"127.0.0.0/8\"",
        ),
        (
            {"networks": ["localhost"]},
            "'localhost' does not appear to be an IPv4 or IPv6 network; write networks = [\"10.1.0.0/16\"]",
        ),
        ({"ports": []}, "ports must be numbers from 1 to 65535"),
        ({"ports": [0]}, "ports must be numbers from 1 to 65535"),
        ({"hosts": []}, "hosts"),
        ({"ca": "/no/such/file"}, "no such file"),
        ({"timeout": 0}, "timeout must be greater than 0"),
        ({"image_bytes": -1}, "image_bytes must be greater than 0"),
        ({"cache_bytes": -1}, "cache_bytes must not be negative"),
        ({"allow_https": True}, "did you mean 'allow_http'"),
    ],
)
def test_wrong_options_stop_the_start(table: Mapping[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Assembly(["ollama", "fetch_urls"], {"fetch_urls": table})
    assert words in str(caught.value)
    assert "fetch_urls" in str(caught.value)


def test_the_certificates_are_read_once() -> None:
    plugin = FetchURLs()
    tls = plugin._loader._fetcher.tls
    assert tls() is tls()
