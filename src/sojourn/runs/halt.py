"""A flag that stops compiled loops in other threads."""

from __future__ import annotations

import numpy as np

from sojourn.rules.arrays import Flags


class Halt:
    """Stops one piece of work, such as a sweep: its loops look at `flag` every few million steps.

    A copy in another process is never set: whatever started that process must stop the work there.

    >>> halt = Halt()
    >>> halt.now()
    >>> halt.is_set
    True
    """

    def __init__(self) -> None:
        self.flag: Flags = np.zeros(1, dtype=np.bool_)

    def now(self) -> None:
        """Tell all loops that have this flag to stop."""
        self.flag[0] = True

    @property
    def is_set(self) -> bool:
        """Whether the loops have been told to stop."""
        return bool(self.flag[0])
