import pytest

from core.config import BackendConfig, Config, Secret
from core.errors import ConfigError


def test_a_secret_shows_itself_only_when_asked() -> None:
    secret = Secret("hunter2")
    assert secret.reveal() == "hunter2"
    backend = BackendConfig("b", ("p",), key=secret, headers={"x": secret}, proxy=secret)
    assert "hunter2" not in f"{secret} {secret!r} {backend!r} {backend}"


def test_backend_finds_by_name_or_names_the_nearest() -> None:
    one = BackendConfig("vllm", ("vllm",))
    config = Config("p.toml", (), {"vllm": one})
    assert config.backend("vllm", table="models", key="x") is one
    with pytest.raises(ConfigError) as caught:
        config.backend("vlm", table="models", key="x")
    assert str(caught.value) == "p.toml: [models] key 'x': no backend 'vlm'; did you mean 'vllm'?"
    with pytest.raises(ConfigError, match="key '\"claude-\\*\"': no backend"):
        config.backend("vlm", table="models", key="claude-*")
