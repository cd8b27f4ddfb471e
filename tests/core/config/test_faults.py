import pytest

from core.config.faults import TableError, did_you_mean, dotted, placed
from core.errors import ConfigError


def test_placed_makes_one_line_of_a_fault() -> None:
    with pytest.raises(ConfigError) as caught, placed("p.toml", "backends.b"):
        raise TableError("unknown\nkey", key="ulr", hint="did you mean 'url'?")
    assert str(caught.value) == "p.toml: [backends.b] key 'ulr': unknown key; did you mean 'url'?"
    assert (caught.value.file, caught.value.table, caught.value.key) == ("p.toml", "backends.b", "ulr")


def test_a_fault_may_name_another_table() -> None:
    with pytest.raises(ConfigError, match=r"^p\.toml: \[other\] key 'k': bad$"), placed("p.toml", "t", "x"):
        raise TableError("bad", table="other", key="k")


def test_placed_uses_its_own_key_where_the_fault_names_none() -> None:
    with pytest.raises(ConfigError, match=r"^p\.toml: \[t\] key 'plugins': bad$"), placed("p.toml", "t", "plugins"):
        raise TableError("bad")


def test_placed_adds_the_file_to_a_config_error() -> None:
    with pytest.raises(ConfigError, match=r"^p\.toml: \[t\]: bad$"), placed("p.toml", "t"):
        raise ConfigError("bad")
    with pytest.raises(ConfigError, match=r"^p\.toml: \[own\] key 'k': bad$"), placed("p.toml", "t", "x"):
        raise ConfigError("bad", table="own", key="k")


def test_placed_leaves_a_placed_error_and_other_errors_alone() -> None:
    with pytest.raises(ConfigError, match=r"^other\.toml: bad$"), placed("p.toml", "t"):
        raise ConfigError("bad", file="other.toml")
    with pytest.raises(ZeroDivisionError), placed("p.toml"):
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("parts", "text"),
    [(("backends", "vllm"), "backends.vllm"), (("models", "qwen2.5:3b"), 'models."qwen2.5:3b"'), (("l", 1), "l.1")],
)
def test_dotted_quotes_as_toml_does(parts: tuple[object, ...], text: str) -> None:
    assert dotted(*parts) == text


def test_did_you_mean_names_the_nearest_or_all() -> None:
    assert did_you_mean("ulr", ["key", "url"]) == "did you mean 'url'?"
    assert did_you_mean("zzz", ["url", "key"], "backends") == "backends: key, url"
    assert did_you_mean("zzz", []) == ""
