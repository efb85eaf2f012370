"""How far a run goes, and whether it has diverged."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sojourn.agents.values.protocol import is_sound
from sojourn.rates.protocol import value
from sojourn.rules.bridge import inlined

if TYPE_CHECKING:
    from sojourn.agents.protocol import Agent

_value = value.bare


class Course(NamedTuple):
    """How far a walk goes: its last step or time, the steps of an episode, and the size of the world."""

    until: int
    episode: int
    num_states: int
    num_actions: int
    time: float = np.inf


@inlined
def has_diverged(agent: Agent, missing: int) -> bool:
    """Whether the rate or a value is no longer finite; `missing` values were -inf from the beginning."""
    return not (abs(_value(agent.rate)) < np.inf and is_sound(agent.values, missing))
