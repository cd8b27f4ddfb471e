"""The whole table of faults, and every script by the model that asks for it."""

from __future__ import annotations

from typing import Final

from tests.faults.breaks import UNENDED, faults
from tests.faults.doors import AT_THE_DOOR
from tests.faults.fault import Fault
from tests.faults.fuzz import answers as fuzzed
from tests.faults.outcomes import name_of
from tests.faults.refusals import ANSWERS, REFUSALS
from tests.faults.scenes import SCENES
from tests.faults.script import Script

_READ: Final = (*faults(), *UNENDED, *REFUSALS, *ANSWERS)
TABLE: Final[list[Fault]] = [*_READ, *AT_THE_DOOR]
SCRIPTS: Final[dict[str, Script]] = {
    **{name_of(fault, stream=stream): fault.script for fault in _READ for stream in (True, False)},
    **SCENES,
    **fuzzed(),
}
