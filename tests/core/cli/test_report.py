from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Any, ClassVar

import attrs
import pytest

from core import Config, hookimpl
from core.cli.report import report
from core.loader import load
from tests.core import samples
from tests.core.samples import HERE, PIPELINE, config_of

ME = __name__
BACKEND = f"""
[backends.one]
plugins = ["{ME}:Far"]
url = "https://host/v1?key=hunter2"
key = "hunter2"
headers = {{ x-key = "hunter2" }}
query = {{ api-key = "hunter2" }}
proxy = "http://me:hunter2@proxy:3128"
top_k = true
"""

EXPECTED = f"""\
pipeline main at /v1
  plugins  {HERE}:Front
  hook         answered by               wrapped by, outermost first
  parse        {HERE}:Front  -
  route        {HERE}:Front  -
  serialize    {HERE}:Front  -
  list_models  {HERE}:Front  -
  check        {HERE}:Front  -

  main with backend one
    plugins  {ME}:Far, {HERE}:Wrapper, {HERE}:Front
    url      https://host/v1?***
    calls    https://host/v1/chat/completions?***
    key      ***
    headers  x-key = ***
    query    api-key = ***
    proxy    ***
    dialect  top_k = True
    stream   auto
    models   model-one (upstream)
    hook               {"answered by":<{len(ME) + 4}}  wrapped by, outermost first
    call_upstream      {ME}:Far  -
    translate_content  {ME}:Far  {HERE}:Wrapper
    translate_stop     {ME}:Far  -
    check              {ME}:Far  -
    lifespan           {ME}:Far  -
"""


@attrs.frozen(eq=False)
class Far(samples.Wrapped):
    """An engine behind an address, with all that a backend may do at the start."""

    needs_url: ClassVar[bool] = True

    @hookimpl
    def check(self, config: Config) -> None:
        """Nothing to refuse."""

    @hookimpl
    def lifespan(self) -> AbstractAsyncContextManager[Any]:
        return nullcontext()


def test_report_shows_pipelines_hook_by_hook_and_no_secret(tmp_path: Path) -> None:
    text = report(load(config_of(tmp_path, PIPELINE + BACKEND), {}))
    assert text == EXPECTED
    assert "hunter2" not in text


@pytest.mark.parametrize(
    ("url", "calls"),
    [
        ("http://h:8000", "http://h:8000/v1/chat/completions"),
        ("http://h/team/", "http://h/team/v1/chat/completions"),
        ("http://h/v1/chat/completions", "http://h/v1/chat/completions"),
        ("http://h/v1#x?y", "http://h/v1/chat/completions"),
    ],
)
def test_the_address_that_is_called_is_shown_beside_the_one_that_was_written(
    tmp_path: Path, url: str, calls: str
) -> None:
    backend = f'[backends.one]\nplugins = ["{ME}:Far"]\nurl = "{url}"\n'
    lines = [line.split() for line in report(load(config_of(tmp_path, PIPELINE + backend), {})).splitlines()]
    assert ["url", url.partition("#")[0]] in lines
    assert ["calls", calls] in lines


class Elsewhere(Far):
    """Has its endpoint at another path."""

    path: ClassVar[str] = "/v2/complete-chat"


def test_the_path_of_the_plugin_is_in_the_address(tmp_path: Path) -> None:
    backend = BACKEND.replace(f"{ME}:Far", f"{ME}:Elsewhere").replace("host/v1", "host/base")
    lines = [line.split() for line in report(load(config_of(tmp_path, PIPELINE + backend), {})).splitlines()]
    assert ["calls", "https://host/base/v2/complete-chat?***"] in lines


def test_a_backend_without_url_and_models_says_none(tmp_path: Path) -> None:
    backend = f'[backends.two]\nplugins = ["{HERE}:Engine"]\n'
    lines = [line.strip() for line in report(load(config_of(tmp_path, PIPELINE + backend), {})).splitlines()]
    assert {"url      none", "models   none"} <= set(lines)


def test_candidates_are_shown_at_each_backend_with_their_parts(tmp_path: Path) -> None:
    models = """
[models]
"a" = [{ backend = "one", weight = 3 }, { backend = "two", model = "up", priority = 1 }, { backend = "two" }]
"b" = [{ backend = "two", priority = 2, weight = 0.5 }]
"""
    pipeline = PIPELINE.replace(f"{HERE}:Front", f'{HERE}:Front", "models')
    backends = BACKEND + f'[backends.two]\nplugins = ["{HERE}:Engine"]\n'
    lines = [line.strip() for line in report(load(config_of(tmp_path, models + pipeline + backends), {})).splitlines()]
    assert "models   model-one (upstream), a (priority 0, weight 3)" in lines
    assert "models   a (up, priority 1, weight 1), a (priority 0, weight 1), b" in lines


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        ("max_concurrent = 4", "limit    4 at once in a worker, 100 may wait 60 s"),
        ("max_concurrent = 1\nmax_queue = 5\nqueue_timeout = 2.5", "limit    1 at once in a worker, 5 may wait 2.5 s"),
        ("max_concurrent = 1\nmax_queue = 0", "limit    1 at once in a worker, nobody may wait"),
    ],
)
def test_a_limit_is_shown(tmp_path: Path, keys: str, shown: str) -> None:
    backend = f'[backends.two]\nplugins = ["{HERE}:Engine"]\n{keys}\n'
    lines = [line.strip() for line in report(load(config_of(tmp_path, PIPELINE + backend), {})).splitlines()]
    assert shown in lines


class Giving(Far):
    """Gives its wrapper an option."""

    wraps: ClassVar[Any] = ((f"{HERE}:Wrapper", {"word": "given"}),)


@pytest.mark.parametrize(("wraps", "shown"), [("", True), ("wraps = []", False)])
def test_options_that_a_wrapper_is_given_are_shown(tmp_path: Path, wraps: str, shown: bool) -> None:
    backend = BACKEND.replace(f"{ME}:Far", f"{ME}:Giving") + wraps
    lines = [line.strip() for line in report(load(config_of(tmp_path, PIPELINE + backend), {})).splitlines()]
    assert (f"given    {HERE}:Wrapper by {ME}:Giving: word = 'given'" in lines) is shown
