from __future__ import annotations

import re

from core import fresh_id


def test_ids_are_unique_and_of_the_api_s_form() -> None:
    found = {fresh_id("msg_") for _ in range(1000)}
    assert len(found) == 1000
    assert all(re.fullmatch(r"msg_[0-9a-f]{24}", each) for each in found)
