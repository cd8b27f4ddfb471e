from __future__ import annotations

from typing import Any

import pytest

from core import RequestError
from plugins.anthropic.refusals import REFUSED, refuse_unservable

ASKED: dict[str, Any] = {
    "container": "container_1",
    "mcp_servers": [{"type": "url", "url": "u", "name": "n"}],
    "fallbacks": [{"model": "m"}],
    "compaction": {"type": "summarize"},
    "safeguards": [{"type": "dangerous_tool_use"}],
}


def test_every_refused_field_is_tried() -> None:
    assert ASKED.keys() == REFUSED.keys()


@pytest.mark.parametrize("field", ASKED)
def test_each_is_refused_by_name(field: str) -> None:
    with pytest.raises(RequestError, match=f"^{field}: ") as caught:
        refuse_unservable({field: ASKED[field]}, "message")
    assert (caught.value.status, caught.value.code) == (400, "")


@pytest.mark.parametrize("empty", [None, [], {}, "", {"id": None, "skills": []}, False])
@pytest.mark.parametrize("field", ASKED)
def test_what_asks_for_nothing_passes(field: str, empty: Any) -> None:
    refuse_unservable({field: empty}, "message")


def test_the_providers_own_fallbacks_are_none_here() -> None:
    refuse_unservable({"fallbacks": "default"}, "message")


def test_a_compaction_does_not_change_a_count() -> None:
    refuse_unservable({"compaction": ASKED["compaction"]}, "count_tokens")


@pytest.mark.parametrize("thread", [{"type": "create"}, {"type": "continue", "previous_message_id": "msg_1"}, {}])
def test_a_thread_has_the_code_that_clients_act_on(thread: Any) -> None:
    with pytest.raises(RequestError, match=r"^thread: ") as caught:
        refuse_unservable({"thread": thread}, "message")
    assert (caught.value.status, caught.value.code) == (400, "thread_unsupported_request")


def test_other_fields_are_nobodys_business() -> None:
    refuse_unservable(
        {"thread": None, "context_management": {"edits": [1]}, "service_tier": "auto", "future": 1}, "message"
    )
