"""Claude Code, installed once and asked for its version; at the end the number of its runs is printed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.clients.claude_code.claude import PACKAGE, VERSION, Claude
from tests.clients.installs import Installs
from tests.server.gateway import GatewayProcess

HERE = Path(__file__).parent
USED = pytest.StashKey[Claude]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("node")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    claude = config.stash.get(USED, None)
    if claude is not None:
        terminalreporter.write_line(f"Claude Code {VERSION}: {claude.runs} runs ran")


@pytest.fixture(scope="session")
def claude(gateway: GatewayProcess, installs: Installs, pytestconfig: pytest.Config) -> Claude:
    # The package asks for a newer node than it needs: what runs is a native binary.
    place = installs.npm(f"claude-code-{VERSION}", "install", "--no-save", PACKAGE, prepare=_lay_package)
    binary = place / "node_modules" / ".bin" / "claude"
    try:
        found = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"Claude Code does not run on this machine: {error}")
    assert found.startswith(VERSION)
    pytestconfig.stash[USED] = claude = Claude(binary, gateway.url)
    return claude


def _lay_package(place: Path) -> None:
    (place / "package.json").write_text("{}")
