"""What goes on in one pipeline at any moment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from core.balance.state import BackendState


@attrs.define(eq=False)
class Traffic:
    """Always as it is now, for this process alone; after a reload there is another one.

    `backends` have health, places and queues by name; `running` are the pipeline's requests that are being served.
    """

    pipeline: str
    backends: Mapping[str, BackendState] = attrs.field(factory=dict)
    running: int = 0
