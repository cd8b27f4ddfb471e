"""`hookline new-plugin`: a package with one backend, from the templates that lie beside this file."""

from __future__ import annotations

import builtins
import keyword
import re
import shutil
import sys
from collections.abc import Mapping
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Final

from core.chat.dialect import Dialect
from core.config import BackendConfig, Config, PipelineConfig
from core.config.tables import keys_of
from core.contract import CONTRACT
from core.loader.discovery import GROUP

_NAME: Final = re.compile(r"[a-z][a-z0-9]*([_-][a-z0-9]+)*")
_LONGEST: Final = 40
_FILES: Final[Mapping[str, str]] = {
    "pyproject.toml.tmpl": "pyproject.toml",
    "backend.py.tmpl": "src/$module/__init__.py",
    "tests.py.tmpl": "tests/test_$name.py",
    "readme.tmpl": "README.md",
    "pipelines.toml.tmpl": "pipelines.toml",
    "ci.yml.tmpl": ".github/workflows/ci.yml",
    "gitignore.tmpl": ".gitignore",
}
"""Each template, and the file that is made of it."""


class ScaffoldError(Exception):
    """The package cannot be written; the text is one line for the user."""


def new_plugin(name: str, directory: Path | None = None) -> Path:
    """Write the package into `directory` (None: ./hookline-NAME), which must not exist, and give it back.

    Raises ScaffoldError for a name that cannot be one, a directory that is there, and where nothing can be written.
    """
    words = _words(name)
    target = directory or Path(words["distribution"])
    texts = {_filled(path, words): _filled(_template(template), words) for template, path in _FILES.items()}
    try:
        target.mkdir(parents=True)
    except FileExistsError as error:
        raise ScaffoldError(f"{target} exists; name another: --directory DIR") from error
    except OSError as error:
        raise ScaffoldError(f"{target} cannot be written: {error.strerror}") from error
    try:
        for path, text in {**texts, f"src/{words['module']}/py.typed": ""}.items():
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            (target / path).write_text(text, encoding="utf-8")
    except OSError as error:
        shutil.rmtree(target, ignore_errors=True)  # half a package would be in the way of the next try
        raise ScaffoldError(f"{target} cannot be written: {error.strerror}") from error
    return target


def _words(name: str) -> dict[str, str]:
    """What the templates are filled with."""
    if not _NAME.fullmatch(name) or len(name) > _LONGEST:
        raise ScaffoldError(
            f"{name!r} is no plugin's name; write lower-case letters, digits and _, up to {_LONGEST}, a letter first"
        )
    name = name.replace("-", "_")
    module = f"hookline_{name}"
    if keyword.iskeyword(name) or name in sys.stdlib_module_names:
        raise ScaffoldError(f"{name!r} is a word of Python's own; choose another")
    if any(entry.name == name for entry in entry_points(group=GROUP)):
        raise ScaffoldError(f"a plugin {name!r} is installed already; choose another name")
    if name in _taken():
        raise ScaffoldError(f"{name!r} is a key of pipelines.toml, or of hookline itself; choose another")
    return {
        "name": name,
        "module": module,
        "distribution": module.replace("_", "-"),
        "class_name": _class_name(name),
        "title": " ".join(part.capitalize() for part in name.split("_")),
        "contract": str(CONTRACT),
    }


def _taken() -> set[str]:
    """Names that would hide a module of hookline's own, or a key of its file."""
    tables = (Config, PipelineConfig, BackendConfig, Dialect)
    return {"pytest", *(key for table in tables for key in keys_of(table))}


def _class_name(name: str) -> str:
    """The name as Python's classes are called, and none that the files have a use for, such as Call or None."""
    camel = "".join(part.capitalize() for part in name.split("_"))
    used = {word for template in _FILES if ".py." in template for word in re.findall(r"\w+", _template(template))}
    return f"{camel}Backend" if camel in used or keyword.iskeyword(camel) or hasattr(builtins, camel) else camel


def _template(name: str) -> str:
    return files("core.cli").joinpath("templates", name).read_text(encoding="utf-8")


def _filled(text: str, words: Mapping[str, str]) -> str:
    return Template(text).substitute(words)
