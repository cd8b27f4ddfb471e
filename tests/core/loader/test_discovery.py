import re
import sys
from pathlib import Path

import pytest

from core.config.faults import TableError
from core.loader.discovery import Catalogue
from tests.core import samples

BROKEN = "raise RuntimeError('no libfoo')"


def install(folder: Path, distribution: str, plugin: str, module: str, code: str = "class Plugin: ...") -> None:
    """A distribution on the path, as an installer leaves it."""
    (folder / f"{module}.py").write_text(code)
    info = folder / f"{distribution.replace('-', '_')}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(f"[hookline.plugins]\n{plugin} = {module}:Plugin\n")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def message(name: str, *, as_wrapper: bool = False) -> str:
    with pytest.raises(TableError) as caught:
        Catalogue.installed().find(name, as_wrapper=as_wrapper)
    return "; ".join(filter(None, [caught.value.message, caught.value.hint]))


def test_finds_an_entry_point_and_imports_it_alone(folder: Path) -> None:
    install(folder, "dist-good", "sample-good", "sample_good_module")
    install(folder, "dist-broken", "sample-broken", "sample_broken_module", BROKEN)
    catalogue = Catalogue.installed()
    assert "sample_good_module" not in sys.modules
    found = catalogue.find("sample-good")
    assert found.__module__ == "sample_good_module"
    assert catalogue.find("sample-good") is found
    assert "sample_broken_module" not in sys.modules


def test_finds_a_class_by_module() -> None:
    assert Catalogue.installed().find("tests.core.samples:Front") is samples.Front


def test_ours_are_entry_points_like_anyones() -> None:
    assert {"anthropic", "models", "vllm", "demo"} <= {entry.name for entry in Catalogue.installed().entries}


def test_a_broken_plugin_is_told_with_its_distribution(folder: Path) -> None:
    install(folder, "dist-broken", "sample-broken", "sample_broken_module", BROKEN)
    assert message("sample-broken") == (
        "plugin 'sample-broken' of dist-broken 1.2 fails to import: RuntimeError: no libfoo"
    )


def test_a_code_attribute_error_is_a_failed_import(folder: Path) -> None:
    install(folder, "dist-attr", "sample-attr", "sample_attr_module", "import sys\nsys.nothing")
    assert "fails to import: AttributeError: module 'sys' has no attribute 'nothing'" in message("sample-attr")


def test_two_distributions_with_one_name(folder: Path) -> None:
    install(folder, "dist-a", "sample-twin", "sample_twin_a")
    install(folder, "dist-b", "sample-twin", "sample_twin_b")
    assert message("sample-twin") == (
        "plugin 'sample-twin' comes from dist-a 1.2 and dist-b 1.2; uninstall one of them, or write module:Class"
    )


def test_an_unknown_name_gets_the_nearest() -> None:
    assert message("vlm") == "no plugin 'vlm'; did you mean 'vllm'? or write module:Class"
    assert re.search(r"installed: (\w+, )*anthropic, ", message("zzzzz"))


WRAPPER = "from core import hookimpl\nclass Plugin:\n    @hookimpl(wrapper=True)\n    def translate_stop(self): yield"


def test_an_unknown_wrapper_gets_the_wrappers_alone(folder: Path) -> None:
    install(folder, "dist-broken", "sample-broken", "sample_broken_module", BROKEN)
    install(folder, "dist-wrapper", "sample-wrapper", "sample_wrapper_module", WRAPPER)
    said = message("vlm", as_wrapper=True)
    assert "sample-wrapper" in said
    assert not re.search("vllm|sample-broken", said)
    near = "no plugin 'sample-wraper'; did you mean 'sample-wrapper'? or write module:Class"
    assert message("sample-wraper", as_wrapper=True) == near


def test_where_there_is_none_only_the_other_form_is_left() -> None:
    with pytest.raises(TableError) as caught:
        Catalogue(()).find("trim", as_wrapper=True)
    assert (caught.value.message, caught.value.hint) == ("no plugin 'trim'", "write module:Class")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a:b:c", "plugin 'a:b:c' is not of the form module:Class"),
        (":Front", "plugin ':Front' is not of the form module:Class"),
        ("tests.core.samples:", "plugin 'tests.core.samples:' is not of the form module:Class"),
        (
            "no_such_module:X",
            "plugin 'no_such_module:X' fails to import: ModuleNotFoundError: No module named 'no_such_module'",
        ),
        (
            "tests.core.samples:Frnt",
            "plugin 'tests.core.samples:Frnt': module 'tests.core.samples' has no 'Frnt'; did you mean 'Front'?",
        ),
        (
            "tests.core.samples:NOT_A_CLASS",
            "plugin 'tests.core.samples:NOT_A_CLASS' is not a class: tests.core.samples:NOT_A_CLASS is a Front",
        ),
    ],
)
def test_a_name_that_is_no_class(name: str, text: str) -> None:
    assert message(name) == text


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("import sys\nsys.exit(0)", "SystemExit: 0"),
        ("def f(): f()\nf()", "RecursionError: maximum recursion depth exceeded"),
        ("class E(Exception):\n    def __str__(self): raise RuntimeError\nraise E", "E"),
        ("def __getattr__(name): raise ValueError(name)", "ValueError: Plugin"),
        ("raise RuntimeError('two\\nlines')", "RuntimeError: two lines"),
    ],
)
def test_whatever_an_import_raises_is_one_line(folder: Path, code: str, said: str) -> None:
    install(folder, "dist-odd", "sample-odd", "sample_odd_module", code)
    sys.modules.pop("sample_odd_module", None)
    assert message("sample-odd") == f"plugin 'sample-odd' of dist-odd 1.2 fails to import: {said}"


def test_an_entry_without_a_class_is_told(folder: Path) -> None:
    install(folder, "dist-bare", "sample-bare", "sample_bare_module")
    (folder / "dist_bare-1.2.dist-info" / "entry_points.txt").write_text(
        "[hookline.plugins]\nsample-bare = sample_bare_module\n"
    )
    assert message("sample-bare") == (
        "plugin 'sample-bare' of dist-bare 1.2 is not of the form module:Class: 'sample_bare_module'"
    )


def test_what_a_module_prints_is_not_on_standard_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install(folder, "dist-loud", "sample-loud", "sample_loud_module", "print('hello')\nclass Plugin: ...")
    Catalogue.installed().find("sample-loud")
    assert capsys.readouterr() == ("", "hello\n")
