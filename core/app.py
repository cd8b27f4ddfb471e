"""`app`, what an ASGI server imports: the gateway that pipelines.toml describes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from core.asgi import ASGIApp
from core.config.path import config_path
from core.config_file import ConfigFile
from core.errors import ConfigError
from core.gateway import Gateway
from core.last_good import LastGood
from core.log import configure_logs
from core.orphan import end_with_master


def make_app() -> ASGIApp:
    """The gateway of PIPELINES_TOML or ./pipelines.toml.

    Raises SystemExit with one line when it cannot be served: a server prints that instead of a traceback.
    """
    configure_logs()
    end_with_master()
    _demote_working_directory()
    try:
        file = ConfigFile(config_path(os.environ), os.environ, LastGood.inherited(os.environ))
        return ASGIApp(Gateway(file.begin()), file)
    except ConfigError as error:
        raise SystemExit(str(error)) from None


def _demote_working_directory() -> None:
    """Put the working directory last on the path: Hypercorn puts it first, where a ./plugins would hide ours."""
    here, root = str(Path.cwd()), str(Path(__file__).parent.parent)
    if here != root and here in sys.path:
        sys.path.remove(here)
        sys.path.append(here)


app = make_app()
