"""The contract between hookline and plugins: its version, and the versions that are served.

A version is a promise: hooks, their arguments, what they return, and all of `core`, `core.chat` and `core.testing`. It
grows by one when a plugin made for the one before could break.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Final

from core.config.faults import TableError

CONTRACT: Final = 1
"""The contract of this hookline."""

OLDEST: Final = 1
"""The oldest contract whose plugins still work here."""


def contract_of(cls: type) -> int:
    """The contract that a plugin's class was made for: its attribute `contract`, 1 without one. Raises TableError."""
    contract: object = getattr(cls, "contract", 1)
    if type(contract) is not int:
        raise TableError(f"contract is not a whole number: {contract!r}", hint="write contract: ClassVar[int] = 1")
    return contract


def check_contract(owner: str, cls: type) -> None:
    """Refuse a plugin made for a contract that is not served here. Raises TableError that begins with `owner`."""
    try:
        contract = contract_of(cls)
    except TableError as fault:
        raise TableError(f"{owner}: {fault.message}", hint=fault.hint) from fault
    if not OLDEST <= contract <= CONTRACT:
        what = "a newer hookline or an older plugin" if contract > CONTRACT else "a newer plugin or an older hookline"
        raise TableError(
            f"{owner} was made for contract {contract}, but hookline {version('hookline')} serves {served()}",
            hint=f"install {what}",
        )


def served() -> str:
    """The contracts served here, in words."""
    return f"contract {CONTRACT}" if OLDEST == CONTRACT else f"contracts {OLDEST} to {CONTRACT}"
