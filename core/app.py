"""`app`, what an ASGI server imports: the gateway that pipelines.toml describes."""

from __future__ import annotations

import os

from core.asgi import ASGIApp
from core.config.file import config_path, read_config
from core.errors import ConfigError
from core.gateway import Gateway
from core.loader import load
from core.log import configure_logs


def make_app() -> ASGIApp:
    """The gateway of PIPELINES_TOML or ./pipelines.toml.

    Raises SystemExit with one line when it cannot be served: a server prints that instead of a traceback.
    """
    configure_logs()
    try:
        return ASGIApp(Gateway(load(read_config(config_path(os.environ), os.environ))))
    except ConfigError as error:
        raise SystemExit(str(error)) from None


app = make_app()
