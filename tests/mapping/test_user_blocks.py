"""Content blocks of a user's turn."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from core.testing import Assembly, MockUpstream, UpstreamAnswer, UpstreamReply, replay
from tests.core.chat.pdfs import pdf_of
from tests.mapping.wire import BACKENDS, HI, F, Wire

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
INLINE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
LINKED = {"type": "image_url", "image_url": {"url": "https://a.example/b.png"}}
PDF = base64.b64encode(pdf_of("Hello page")).decode()
CALL = {"role": "assistant", "content": [{"type": "tool_use", "id": "callabcd1", "name": "f", "input": {}}]}


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def image(kind: str = "image/png") -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": PNG}}


def document(source: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"type": "document", "source": source, **fields}


def result(content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "callabcd1", "content": content, **fields}


def results(wire: Wire, *blocks: dict[str, Any], backend: str = "openai") -> list[dict[str, Any]]:
    """The upstream's messages behind the call."""
    return wire.messages(HI, CALL, user(*blocks), backend=backend, tools=[F])[2:]


def test_text(wire: Wire) -> None:
    assert wire.messages(user(text("Hi"))) == [HI]
    assert wire.messages(user(text("Hi"), text("Go"))) == [{"role": "user", "content": "Hi\n\nGo"}]
    cited = {**text("Hi"), "citations": [{"type": "char_location", "cited_text": "x"}]}
    assert wire.messages(user(cited)) == [HI]


def test_image_base64(wire: Wire) -> None:
    turn = user(text("See"), image(), text("So?"))
    assert wire.messages(turn)[0]["content"] == [text("See"), INLINE, text("So?")]
    assert wire.refused("deepseek", messages=[turn]) == "messages.0.content.1.source: this model takes no images"


def test_image_type(wire: Wire) -> None:
    assert wire.refused("ollama", messages=[user(image("image/gif"))]) == (
        "messages.0.content.0.source: this model takes no image/gif, only image/jpeg, image/png, image/webp"
    )


def test_image_url(wire: Wire) -> None:
    turn = user({"type": "image", "source": {"type": "url", "url": "https://a.example/b.png"}})
    assert wire.messages(turn) == [{"role": "user", "content": [LINKED]}]
    for backend in ("ollama", "lm_studio"):
        assert wire.refused(backend, messages=[turn]) == (
            "messages.0.content.0.source: this model takes no images by URL, only as base64; "
            "where the gateway's operator lists the plugin fetch_urls for it, they are fetched"
        )


def test_fetched_urls() -> None:
    image = UpstreamReply(base64.b64decode(PNG), content_type="image/png")
    document = UpstreamReply(pdf_of("Hello page"), content_type="application/pdf")
    for kind, file, content in (("image", image, [INLINE]), ("document", document, "Hello page")):
        with MockUpstream(file).in_thread() as server:
            rules = {"allow_http": True, "ports": [int(server.root.rpartition(":")[2])], "networks": ["127.0.0.0/8"]}
            turn = user({"type": kind, "source": {"type": "url", "url": f"{server.root}/a"}})
            for backend in ("ollama", "lm_studio"):
                assembly = Assembly([backend, "fetch_urls"], {"fetch_urls": rules})
                reply = replay(assembly, [UpstreamAnswer().wire(stream=False)], request={"messages": [turn]})
                assert reply.sent["messages"] == [{"role": "user", "content": content}]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
        document({"type": "file", "file_id": "file_1"}),
        {"type": "container_upload", "file_id": "file_1"},
    ],
)
def test_file_id(wire: Wire, block: dict[str, Any]) -> None:
    message = wire.refused(messages=[user(block)])
    assert message.startswith("messages.0.content.0")
    assert "files by id are not kept here" in message


def test_document_text(wire: Wire) -> None:
    block = document({"type": "text", "media_type": "text/plain", "data": "Lorem"}, title="T", context="C")
    assert wire.messages(user(block, text("Sum up"))) == [{"role": "user", "content": "T\nC\n\nLorem\n\nSum up"}]


def test_document_content(wire: Wire) -> None:
    block = document({"type": "content", "content": [text("One"), image()]}, title="T")
    assert wire.messages(user(block))[0]["content"] == [text("T"), text("One"), INLINE]
    assert wire.messages(user(document({"type": "content", "content": "One"})))[0]["content"] == "One"


@pytest.mark.parametrize("backend", ["openai", "openrouter", "vllm", "mistral"])
def test_document_pdf(wire: Wire, backend: str) -> None:
    block = document({"type": "base64", "media_type": "application/pdf", "data": PDF}, title="Report")
    content = wire.messages(user(block), backend=backend)[0]["content"]
    if backend in ("openai", "openrouter"):
        file = {"filename": "Report.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}
        assert content == [text("Report"), {"type": "file", "file": file}]
    else:
        assert content == "Report\n\nHello page"


def test_document_pdf_without_text(wire: Wire) -> None:
    pdf = base64.b64encode(pdf_of("")).decode()
    block = document({"type": "base64", "media_type": "application/pdf", "data": pdf})
    message = wire.refused("vllm", messages=[HI, user(block)])
    assert "content.0.source: this document holds no text" in message


def test_document_in_a_tool_result_that_cannot_be_read(wire: Wire) -> None:
    pdf = {"type": "base64", "media_type": "application/pdf", "data": base64.b64encode(pdf_of("")).decode()}
    for source in (pdf, {"type": "url", "url": "https://a.example/b.pdf"}):
        message = results(wire, result([text("read"), document(source)]), backend="vllm")[0]
        assert message["content"].startswith("read\n[A document was here that cannot be read: ")


def test_what_cannot_be_sent_in_an_earlier_turn(wire: Wire) -> None:
    link = document({"type": "url", "url": "https://a.example/b.pdf"})
    scan = document({"type": "base64", "media_type": "application/pdf", "data": base64.b64encode(pdf_of("")).decode()})
    said = {"role": "assistant", "content": "No."}
    turns = wire.messages(user(image(), text("So?")), said, user(link), user(scan), HI, backend="deepseek")
    first, _, rest = (turn["content"] for turn in turns)
    assert first == "[An image was here that cannot be shown: this model takes no images]\n\nSo?"
    notes = rest.split("\n\n")
    assert [note.partition(": ")[0] for note in notes] == ["[A document was here that cannot be read"] * 2 + ["Hi"]
    assert wire.messages(user(image()), said, HI, backend="vllm")[0]["content"] == [INLINE]
    for block in (image(), link, scan):
        assert wire.refused("deepseek", messages=[HI, said, user(block), said])


def test_document_url(wire: Wire) -> None:
    block = document({"type": "url", "url": "https://a.example/b.pdf"})
    assert wire.refused(messages=[user(block)]).startswith(
        "messages.0.content.0.source: a document by URL is not fetched here"
    )


def test_citations(wire: Wire) -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "Lorem"}
    block = document(source, citations={"enabled": True})
    assert wire.messages(user(block)) == [{"role": "user", "content": "Lorem"}]


def test_search_result(wire: Wire) -> None:
    block = {
        "type": "search_result",
        "source": "https://a.example",
        "title": "A",
        "content": [text("One"), text("Two")],
    }
    wanted = "[A] (https://a.example)\nOne\nTwo"
    assert wire.messages(user(block)) == [{"role": "user", "content": wanted}]
    assert results(wire, result([block])) == [{"role": "tool", "tool_call_id": "callabcd1", "content": wanted}]


def test_unknown_block(wire: Wire) -> None:
    block = {"type": "hologram", "beam": [1]}
    assert wire.messages(user(block)) == [{"role": "user", "content": '{"type":"hologram","beam":[1]}'}]


@pytest.mark.parametrize(
    ("content", "sent"),
    [
        ("r", "r"),
        ([text("one"), text("two")], "one\ntwo"),
        ([], ""),
        (None, ""),
        ([document({"type": "text", "media_type": "text/plain", "data": "Lorem"}, title="T")], "T\nLorem"),
        ([{"type": "tool_reference", "tool_name": "g"}], "Tool g is now available."),
        ([{"type": "browser_state", "tabs": []}], '{"type":"browser_state","tabs":[]}'),
    ],
)
def test_tool_result(wire: Wire, content: Any, sent: str) -> None:
    for backend in BACKENDS:
        (message,) = results(wire, result(content), backend=backend)
        assert message == {"role": "tool", "tool_call_id": "callabcd1", "content": sent}


def test_tool_result_without_content(wire: Wire) -> None:
    block = {"type": "tool_result", "tool_use_id": "callabcd1"}
    assert results(wire, block) == [{"role": "tool", "tool_call_id": "callabcd1", "content": ""}]


@pytest.mark.parametrize(
    ("content", "sent"), [("no file", "Error: no file"), ("Error: no file", "Error: no file"), ("", "Error")]
)
def test_is_error(wire: Wire, content: str, sent: str) -> None:
    assert results(wire, result(content, is_error=True))[0]["content"] == sent
    assert results(wire, result(content, is_error=False))[0]["content"] == content


@pytest.mark.parametrize("backend", BACKENDS)
def test_image_in_a_tool_result(wire: Wire, backend: str) -> None:
    sent = results(wire, result([text("shot"), image()]), text("So?"), backend=backend)
    if backend == "deepseek":
        note = "shot\n[An image was here that cannot be shown: this model takes no images]"
        assert sent[0]["content"] == note
        return
    assert sent[0] == {"role": "tool", "tool_call_id": "callabcd1", "content": "shot"}
    linked = {"type": "image", "source": {"type": "url", "url": "https://a.example/b.png"}}
    note = "[An image was here that cannot be shown: this model takes no images by URL, only as base64]"
    assert results(wire, result([linked]), backend="ollama")[0]["content"] == note
    label = text("Shown by the result of tool call callabcd1:")
    assert sent[-1] == {"role": "user", "content": [label, INLINE, text("So?")]}


def test_pdf_in_a_tool_result(wire: Wire) -> None:
    block = document({"type": "base64", "media_type": "application/pdf", "data": PDF})
    assert results(wire, result([block]), backend="vllm")[0]["content"] == "Hello page"
    tool, following = results(wire, result([block]), backend="openai")
    assert tool["content"] == ""
    assert [part["type"] for part in following["content"]] == ["text", "file"]


def test_image_inside_the_tool_message(wire: Wire) -> None:
    parts = {"dialect": {"tool_content": "parts"}}
    turns = [HI, CALL, user(result([text("shot"), image()]))]
    sent = wire.sent(messages=turns, options=parts)["messages"][2:]
    assert sent == [{"role": "tool", "tool_call_id": "callabcd1", "content": [text("shot"), INLINE]}]


@pytest.mark.parametrize("backend", BACKENDS)
def test_results_come_first(wire: Wire, backend: str) -> None:
    calls = [{"type": "tool_use", "id": f"callabcd{n}", "name": "f", "input": {}} for n in (1, 2)]
    answers = [{"type": "tool_result", "tool_use_id": f"callabcd{n}", "content": str(n)} for n in (2, 1)]
    turn = user(text("Go on"), *answers)
    sent = wire.messages(HI, {"role": "assistant", "content": calls}, turn, backend=backend)[2:]
    between = [{"role": "assistant", "content": "OK."}] if backend == "mistral" else []
    assert sent == [
        {"role": "tool", "tool_call_id": "callabcd1", "content": "1"},
        {"role": "tool", "tool_call_id": "callabcd2", "content": "2"},
        *between,
        {"role": "user", "content": "Go on"},
    ]
