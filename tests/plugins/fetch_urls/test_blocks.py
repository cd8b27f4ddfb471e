from __future__ import annotations

import pytest

from core import (
    Block,
    DocumentBlock,
    GatewayError,
    ImageBlock,
    Message,
    Request,
    RequestError,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from plugins.fetch_urls.blocks import Outcomes, wanted_of, with_data
from plugins.fetch_urls.errors import BusyError, FetchError
from plugins.fetch_urls.kinds import Fetched, Wanted

A, B, C, D = (Wanted("image", f"https://a.example/{name}") for name in "abcd")
P = Wanted("document", "https://a.example/p.pdf")
FILE = Fetched("image/png", "QQ==")
SENT = ImageBlock("image/png", "QQ==")
CALL = Message("assistant", (ToolUseBlock("t", "f"),))


def link(wanted: Wanted) -> Block:
    return ImageBlock(url=wanted.url) if wanted.kind == "image" else DocumentBlock(url=wanted.url, title="T")


def user(*blocks: Block) -> Message:
    return Message("user", blocks)


def request(*turns: Message) -> Request:
    return Request("message", messages=turns)


HISTORY = request(
    user(link(A), TextBlock("x"), DocumentBlock(content=(link(B), TextBlock("y")))),
    CALL,
    user(ToolResultBlock("t", (TextBlock("z"), link(C), link(P))), link(D), link(A)),
)


def test_the_last_is_wanted_first_and_each_once() -> None:
    assert wanted_of(HISTORY, images=True) == [A, D, P, C, B]
    assert wanted_of(HISTORY, images=False) == [P]


def test_data_is_no_url() -> None:
    turn = user(ImageBlock(url="data:image/png;base64,QQ=="), SENT, ImageBlock(file_id="f"), DocumentBlock(text="x"))
    assert wanted_of(request(turn), images=True) == []


def test_data_stands_in_the_place_of_urls() -> None:
    outcomes: Outcomes = {**dict.fromkeys((A, B, C, D), FILE), P: Fetched("application/pdf", "UERG")}
    first, call, last = with_data(HISTORY, outcomes).messages
    assert first.content == (SENT, TextBlock("x"), DocumentBlock(content=(SENT, TextBlock("y"))))
    assert call == CALL
    document = DocumentBlock("application/pdf", "UERG", title="T")
    assert last.content == (ToolResultBlock("t", (TextBlock("z"), SENT, document)), SENT, SENT)


def test_what_was_not_asked_for_stays() -> None:
    assert with_data(HISTORY, {}) == HISTORY


def test_a_note_stands_for_what_the_client_cannot_take_back() -> None:
    gone = FetchError("its server cannot be reached")
    outcomes: Outcomes = {A: FILE, D: FILE, B: gone, C: gone, P: BusyError("late")}
    first, _, last = with_data(HISTORY, outcomes).messages
    note = "[An image was here that cannot be shown: its server cannot be reached]"
    assert first.content[2] == DocumentBlock(content=(TextBlock(note), TextBlock("y")))
    result = last.content[0]
    assert isinstance(result, ToolResultBlock)
    read = DocumentBlock(text="[A document was here that cannot be read: late]", title="T")
    assert result.content == (TextBlock("z"), TextBlock(note), read)


def test_the_last_turn_s_own_are_refused_with_their_place() -> None:
    with pytest.raises(RequestError) as caught:
        with_data(HISTORY, {D: FetchError("it is gone")})
    assert caught.value.message == "messages.2.content.1.image.source.url: it is gone"
    assert caught.value.status == 400
    nested = request(user(DocumentBlock(content=(link(B),))), Message("assistant", (TextBlock("so"),)))
    with pytest.raises(
        RequestError, match=r"^messages\.0\.content\.0\.document\.source\.content\.0\.image\.source\.url: no$"
    ):
        with_data(nested, {B: FetchError("no")})
    with pytest.raises(RequestError, match=r"^messages\.0\.content\.0\.document\.source\.url: no$"):
        with_data(request(user(link(P))), {P: FetchError("no")})


def test_what_had_no_turn_may_be_tried_again() -> None:
    with pytest.raises(GatewayError) as caught:
        with_data(request(user(link(A))), {A: BusyError("try again")})
    assert (caught.value.status, caught.value.kind) == (529, "overloaded")
    assert (caught.value.retry_after, caught.value.should_retry) == (1, True)
