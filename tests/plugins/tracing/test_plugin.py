from __future__ import annotations

import subprocess
import sys

import pytest

from core import Config, ConfigError, Secret
from core.config import BackendConfig
from core.loader.assemble import join
from plugins.tracing import Tracing, plugin
from tests.plugins.tracing.collector import collector
from tests.plugins.tracing.samples import answered, received, values

CONFIG = Config("f", (), {"b": BackendConfig("b", ("vllm",), url="http://host:1/v1")})


@pytest.mark.anyio
async def test_a_request_reaches_the_collector_at_the_end_at_the_latest() -> None:
    with collector() as (endpoint, got):
        tracing = Tracing(endpoint=endpoint, headers={"x-key": Secret("k")}, service_name="mine")
        tracing.check(CONFIG)
        async with tracing.lifespan():
            tracing.observe([answered()])
    ((headers, body),) = got
    assert {name.lower(): value for name, value in headers.items()}["x-key"] == "k"
    (span,) = received(body)
    assert values(span.attributes)["server.address"] == "host"
    assert b"mine" in body


def test_without_a_lifespan_nothing_is_traced() -> None:
    record = answered()
    Tracing().observe([record])
    assert (Tracing(propagate=True).exchange(record), record.trace_id) == (None, "")


@pytest.mark.parametrize("propagate", [True, False])
def test_only_who_tells_the_upstream_is_there_while_a_request_runs(propagate: bool) -> None:
    hooks = join({"tracing": Tracing(propagate=propagate)}).hook
    assert [bool(caller.get_hookimpls()) for caller in (hooks.exchange, hooks.call_upstream)] == [propagate] * 2
    assert hooks.observe.get_hookimpls()


def test_the_secret_does_not_show() -> None:
    assert "sk-1" not in repr(Tracing(headers={"authorization": Secret("sk-1")}))


@pytest.mark.parametrize("ratio", [-0.1, 1.1])
def test_a_ratio_is_one(ratio: float) -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        Tracing(sample_ratio=ratio)


def test_an_endpoint_is_one() -> None:
    with pytest.raises(ConfigError, match="no http"):
        Tracing(endpoint="collector:4318").check(CONFIG)


def test_without_the_extra_the_start_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"pip install 'CHECKOUT\[otel\]'"):
        Tracing().check(CONFIG)


def test_the_class_can_be_read_without_it() -> None:
    code = "import sys; import plugins.tracing; sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
