"""hookline's pytest plugin: the rules of the conformance kit for functions, by the marker `hookline_backend`.

A module of its own at the top, for pytest imports it with every run: inside `core` it would bring all of hookline in.
Classes need no plugin: see `core.testing.BackendConformance`.
"""

from __future__ import annotations

from typing import Any

MARKER = "hookline_backend"
RULE = "hookline_rule"


def pytest_configure(config: Any) -> None:
    """Tell pytest of the marker."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(backend, *wrappers, engine=EngineFacts(), options={{}}, rules=(), skip={{}}): "
        f"run the test once for each rule of hookline's conformance kit; it calls its argument `{RULE}`",
    )


def pytest_generate_tests(metafunc: Any) -> None:
    """Give a marked function its rules, each bound to the backend: `def test_it(hookline_rule): hookline_rule()`."""
    marker = metafunc.definition.get_closest_marker(MARKER)
    if marker is None or RULE not in metafunc.fixturenames:
        return
    from core.testing.kit.suite import bound_rules  # noqa: PLC0415  only a test run that uses the kit pays for it

    rules = bound_rules(*marker.args, **marker.kwargs)
    metafunc.parametrize(RULE, rules)
