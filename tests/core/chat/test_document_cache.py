from __future__ import annotations

from base64 import b64encode

import anyio
import pytest

from core.chat.document_cache import DocumentCache
from core.chat.documents import NotBase64Error
from core.chat.pdf import PDFError
from core.chat.pdf_process import ReaderError
from core.errors import GatewayError
from tests.core.chat.pdfs import pdf_of

pytestmark = pytest.mark.anyio


def data(text: str) -> str:
    return b64encode(text.encode()).decode()


class Reader:
    """Reads its bytes as text, once it may go; what begins with `!` is refused, with `?` it breaks."""

    def __init__(self) -> None:
        self.read: list[str] = []
        self.now = self.most = 0
        self.go = anyio.Event()
        self.began = anyio.Event()

    async def __call__(self, data: bytes) -> str:
        text = data.decode()
        self.read.append(text)
        self.now += 1
        self.most = max(self.most, self.now)
        self.began.set()
        try:
            await self.go.wait()
        finally:
            self.now -= 1
        if text.startswith("!"):
            raise PDFError("is encrypted")
        if text.startswith("?"):
            raise ReaderError("killed")
        return text


def ready() -> Reader:
    reader = Reader()
    reader.go.set()
    return reader


async def test_real_pdfs_are_read() -> None:
    document = b64encode(pdf_of("Hello")).decode()
    assert await DocumentCache().texts([document]) == {document: "Hello"}


async def test_texts_and_refusals_are_kept() -> None:
    reader = ready()
    cache = DocumentCache(reader)
    for _ in range(3):
        found = await cache.texts([data("a"), data("!b")])
        assert found[data("a")] == "a"
        assert isinstance(found[data("!b")], PDFError)
    assert sorted(reader.read) == ["!b", "a"]


async def test_what_broke_or_is_no_base64_is_not_kept() -> None:
    reader = ready()
    cache = DocumentCache(reader)
    for _ in range(2):
        found = await cache.texts([data("?a"), "A"])
        assert isinstance(found[data("?a")], ReaderError)
        assert isinstance(found["A"], NotBase64Error)
    assert reader.read == ["?a", "?a"]


async def test_the_last_used_are_kept_up_to_the_size() -> None:
    reader = ready()
    cache = DocumentCache(reader, size=3 * 1500, at_once=1)
    documents = [letter * 1000 for letter in "abc"]
    for text in (*documents, "d" * 1000, documents[2], documents[0], "e" * 9000, documents[0]):
        await cache.texts([data(text)])
    assert [text[0] for text in reader.read] == ["a", "b", "c", "d", "a", "e", "a"]


async def test_a_document_is_read_once_at_a_time_and_few_at_once() -> None:
    reader = Reader()
    cache = DocumentCache(reader, at_once=2)
    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(cache.texts, [data(letter) for letter in "abcd"])
        await anyio.wait_all_tasks_blocked()
        assert (len(reader.read), reader.most) == (2, 2)
        reader.go.set()
    assert (sorted(reader.read), reader.most) == (["a", "b", "c", "d"], 2)


async def test_one_who_waits_goes_on_when_the_reader_s_client_leaves() -> None:
    reader = Reader()
    cache = DocumentCache(reader)
    found: list[object] = []

    async def leaves(scope: anyio.CancelScope) -> None:
        with scope:
            await cache.texts([data("a")])

    async def waits() -> None:
        found.append(await cache.texts([data("a")]))

    async with anyio.create_task_group() as group:
        scope = anyio.CancelScope()
        group.start_soon(leaves, scope)
        await reader.began.wait()
        group.start_soon(waits)
        await anyio.wait_all_tasks_blocked()
        scope.cancel()
        reader.go.set()
    assert found == [{data("a"): "a"}]
    assert reader.read == ["a", "a"]


async def test_the_time_of_a_request_is_limited() -> None:
    reader = Reader()
    cache = DocumentCache(reader, seconds=0.01)
    with pytest.raises(GatewayError) as caught:
        await cache.texts([data("a")])
    assert (caught.value.kind, caught.value.status, reader.now) == ("overloaded", 529, 0)
    assert caught.value.message == "the documents of this request were not read within 0.01 seconds; try again"
