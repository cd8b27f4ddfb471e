from pathlib import Path

import pytest

from core.chat.dialect import Dialect
from core.config import Secret
from core.config.file import read_config
from core.errors import ConfigError
from tests.core.samples import config_of, write

PIPELINE = '[pipelines.main]\npaths = ["/v1", "/llm/v1/"]\nplugins = ["anthropic", "models"]\n'
BACKEND = '[backends.vllm]\nplugins = ["vllm"]\n'
WHOLE = f"""
[models]
"claude-*" = {{ backend = "vllm" }}

[anthropic]
cache_usage = true

{PIPELINE}
[pipelines.main.anthropic]
cache_usage = false

{BACKEND}
url = "http://127.0.0.1:8000/v1"
key = {{ env = "KEY" }}
headers = {{ x-title = "hookline", x-secret = {{ env = "OTHER" }} }}
query = {{ api-version = "1" }}
extra_body = {{ seed = 1 }}
proxy = {{ env = "PROXY" }}
wraps = []
connect_timeout = 1
stream = "always"
efforts = ["low", "high"]
top_k = true

[backends.vllm.thinking_on]
chat_template_kwargs = {{ thinking = true }}

[backends.vllm.vllm]
an_option = 1
"""


def test_reads_a_whole_file(tmp_path: Path) -> None:
    config = config_of(tmp_path, WHOLE, KEY="hunter2", OTHER="swordfish", PROXY="http://u:pw@proxy:3128")
    (pipeline,) = config.pipelines
    assert (pipeline.name, pipeline.paths, pipeline.plugins) == ("main", ("/v1", "/llm/v1"), ("anthropic", "models"))
    assert pipeline.options == {"anthropic": {"cache_usage": False}}
    assert config.options == {"models": {"claude-*": {"backend": "vllm"}}, "anthropic": {"cache_usage": True}}
    backend = config.backends["vllm"]
    assert (backend.name, backend.plugins, backend.wraps, backend.url) == ("vllm", ("vllm",), (), backend.url)
    assert backend.key == Secret("hunter2")
    assert backend.headers == {"x-title": Secret("hookline"), "x-secret": Secret("swordfish")}
    assert (backend.query, backend.extra_body) == ({"api-version": "1"}, {"seed": 1})
    assert (backend.connect_timeout, backend.read_timeout, backend.stream) == (1.0, 600.0, "always")
    assert backend.dialect == {
        "efforts": ("low", "high"),
        "top_k": True,
        "thinking_on": {"chat_template_kwargs": {"thinking": True}},
    }
    assert Dialect(**backend.dialect).efforts == ("low", "high")
    assert backend.options == {"vllm": {"an_option": 1}}


def test_no_secret_is_in_the_repr(tmp_path: Path) -> None:
    config = config_of(tmp_path, WHOLE, KEY="hunter2", OTHER="swordfish", PROXY="http://u:pw@proxy:3128")
    assert not any(secret in repr(config) for secret in ("hunter2", "swordfish", "pw@proxy"))


FAULTS = [
    ("", "no table [pipelines.NAME]; add one"),
    (f"[pipeline.x]\n{BACKEND}", "no table [pipelines.NAME]; did you mean 'pipeline'?"),
    (PIPELINE, "no table [backends.NAME]; add one"),
    ("pipelines = 3", "[pipelines]: expected a table, got an integer"),
    ("[pipelines]\nmain = 3", "[pipelines] key 'main': expected a table [pipelines.NAME], got an integer"),
    ("[models\n", "TOML syntax: Expected ']' at the end of a table declaration (at line 1, column 8)"),
    (BACKEND + BACKEND, "TOML syntax: Cannot declare ('backends', 'vllm') twice (at line 3, column 15)"),
    (f"{PIPELINE}{BACKEND}[modles]", "unknown table [modles]; did you mean 'models'?"),
    (f"{PIPELINE}{BACKEND}[zzz]", "unknown table [zzz]; valid: anthropic, backends, models, pipelines, server"),
    (
        f"{PIPELINE}{BACKEND}[keys]",
        "[keys]: plugin 'keys' is installed but listed in no pipeline; "
        "list it in `plugins` of [pipelines.main], or take the table away",
    ),
    (f"models = 3\n{PIPELINE}{BACKEND}", "key 'models': expected a table, got an integer"),
    (
        f"{PIPELINE}{BACKEND}[vllm]",
        "unknown table [vllm]; options of a backend's plugin belong in [backends.vllm.vllm]",
    ),
    (f"{PIPELINE}pths = 3\n{BACKEND}", "[pipelines.main] key 'pths': unknown key; did you mean 'paths'?"),
    (f"{PIPELINE}zzz = 3\n{BACKEND}", "[pipelines.main] key 'zzz': unknown key; valid: paths, plugins"),
    (f'[pipelines."a b"]\npaths = ["/"]\n{BACKEND}', "[pipelines.\"a b\"] key 'plugins': missing"),
    (f'[pipelines.main]\nplugins = ["x"]\n{BACKEND}', "[pipelines.main] key 'paths': missing"),
    (
        f"{PIPELINE}{BACKEND}[server]\ndrain_grace = -1",
        "[server] key 'drain_grace': expected seconds from 0 up, got -1",
    ),
    (
        f"{PIPELINE}{BACKEND}[server]\ndrain_timeout = inf",
        "[server] key 'drain_timeout': expected seconds from 0 up, got inf",
    ),
    (f"{PIPELINE}{BACKEND}ulr = 'x'", "[backends.vllm] key 'ulr': unknown key; did you mean 'url'?"),
    (f"{PIPELINE}{BACKEND}top_kk = true", "[backends.vllm] key 'top_kk': unknown key; did you mean 'top_k'?"),
    (f"{PIPELINE}{BACKEND}url = 3", "[backends.vllm] key 'url': expected a string, got an integer"),
    (f"{PIPELINE}{BACKEND}top_k = 1", "[backends.vllm] key 'top_k': expected true or false, got an integer"),
    (f"{PIPELINE}{BACKEND}efforts = [1]", "[backends.vllm] key 'efforts.0': expected a string, got an integer"),
    (
        f"{PIPELINE}{BACKEND}stream = 'allways'",
        "[backends.vllm] key 'stream': expected one of 'auto', 'always', 'never', got 'allways'",
    ),
    (f"{PIPELINE}{BACKEND}url = ''", "[backends.vllm] key 'url': is empty; fill it, or take it away"),
    (f"{PIPELINE}{BACKEND}ca = ''", "[backends.vllm] key 'ca': is empty; fill it, or take it away"),
    (
        f"{PIPELINE}{BACKEND}max_stops = -1",
        "[backends.vllm] key 'max_stops': expected a number from 0 up, got -1",
    ),
    (
        f'{PIPELINE}{BACKEND}key = {{ evn = "HOME" }}',
        "[backends.vllm] key 'key.evn': unknown key; did you mean 'env'?",
    ),
    (
        f'{PIPELINE}{BACKEND}headers = {{ "x y" = {{ env = 3 }} }}',
        "[backends.vllm] key 'headers.\"x y\".env': expected a string, got an integer",
    ),
    (
        f'{PIPELINE}[pipelines.two]\npaths = ["/v1"]\nplugins = ["x"]\n{BACKEND}',
        "[pipelines.two] key 'paths': '/v1' is listed in [pipelines.main], too; keep one of them",
    ),
    (
        f'{PIPELINE}{BACKEND}wraps = ["models"]',
        "[backends.vllm] key 'wraps': plugin 'models' is listed in [pipelines.main], too; keep one of them",
    ),
    (
        f'{PIPELINE}{BACKEND}key = {{ env = "NO" }}',
        "[backends.vllm] key 'key': the environment variable NO is not set; set it, or take the key away",
    ),
    (
        f'{PIPELINE}{BACKEND}headers = {{ a = {{ env = "NO" }} }}',
        "[backends.vllm] key 'headers.a': the environment variable NO is not set; set it, or take the key away",
    ),
    (
        f"{PIPELINE}{BACKEND}extra_body = 'x'",
        "[backends.vllm] key 'extra_body': expected a table, got a string",
    ),
]


@pytest.mark.parametrize(("text", "message"), FAULTS)
def test_every_fault_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        read_config(path, {})
    assert str(caught.value) == f"{path}: {message}"


def test_internal_fields_are_no_keys(tmp_path: Path) -> None:
    for key in ("name", "dialect", "options"):
        with pytest.raises(ConfigError, match=f"key '{key}': unknown key; valid: .*, url, .*wraps$"):
            config_of(tmp_path, f"{PIPELINE}{BACKEND}{key} = 'x'")


def test_a_missing_file_names_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml: no such file; name the file: .* PIPELINES_TOML"):
        read_config(tmp_path / "none.toml", {})


def test_a_folder_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r": cannot be read: Is a directory$"):
        read_config(tmp_path, {})


def test_other_encodings_are_refused_and_a_byte_order_mark_is_not(tmp_path: Path) -> None:
    path = write(tmp_path, "")
    path.write_bytes(b"\xef\xbb\xbf# caf\xc3\xa9\r\n# caf\xe9")
    with pytest.raises(ConfigError, match=r": line 2 is not UTF-8; save the file as UTF-8$"):
        read_config(path, {})
    path.write_bytes(b"\xef\xbb\xbf" + (PIPELINE + BACKEND).encode())
    assert list(read_config(path, {}).backends) == ["vllm"]


ROOT = Path(__file__).parents[3]
SHIPPED = (ROOT / "pipelines.toml").read_text()


def test_the_shipped_file_is_sound() -> None:
    config = read_config(ROOT / "pipelines.toml", {})
    assert list(config.options["models"]) == ["reasoning", "qwen2.5:3b-instruct", "smollm2"]
    assert list(config.backends) == ["demo", "embedded"]
    assert config.pipelines[0].paths == ("/v1", "/llm/v1")


@pytest.mark.parametrize("section", SHIPPED.split("# --- ")[1:], ids=lambda text: text.split(" ---")[0])
def test_what_it_shows_as_comments_is_sound_too(tmp_path: Path, section: str) -> None:
    lines = [line.removeprefix("#").strip() for line in section.splitlines()[1:]]
    config = config_of(tmp_path, PIPELINE + "\n".join(lines), HOSTED_KEY="hunter2")
    (backend,) = config.backends.values()
    (route,) = config.options["models"].values()
    assert route["backend"] == backend.name
    assert backend.url.endswith("/v1")
