"""Agents for states that are vectors: Q-learning and Sarsa with tiles for values.

Both take the number of entries that are seen in a state and the number of actions first, then the options of
`sojourn.agents.literature`, and these:

    bounds     the low and the high bounds of the entries; infinite ones are replaced by what has been seen
    tilings    how many tilings there are
    tiles      how many tiles there are along each side of a tiling
    memory     the largest number of weights for each action; if there are more tiles, they share weights
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from sojourn.agents.construct import Options, estimator, learning_with
from sojourn.agents.errors import AverageReward, Method, Sarsa
from sojourn.agents.exploration import Decay, Linear
from sojourn.agents.learning import LearningAgent
from sojourn.agents.values.tiling import bounds_of, emptied, tiled
from sojourn.rates.protocol import Rate
from sojourn.rates.ratio import Exponential
from sojourn.rates.scheduled import Visits
from sojourn.rules.door import told
from sojourn.rules.vectors import Bounds

Sides: TypeAlias = Bounds | tuple[Sequence[float], Sequence[float]]

_RATE_STEP_SIZE = 0.001


class Cut(NamedTuple):
    """How states are cut into tiles, as the user gave it."""

    bounds: Sides | None
    tilings: int
    tiles: int
    memory: int


def tile_q(  # an option for each thing that users tune, as in every constructor of an agent
    num_inputs: int,
    num_actions: int,
    *,
    bounds: Sides | None = None,
    tilings: int = 8,
    tiles: int = 8,
    memory: int = 65_536,
    step_size: float | Visits = 0.03,
    rate_step_size: float | Visits | None = None,
    exploration: float | Decay | Linear = 0.2,
    greedy: str = "action",
    ties: str = "random",
    initial: float = 0.0,
    centring: float = 0.1,
    rate: Rate | None = None,
) -> LearningAgent:
    """Q-learning with tiles, for states that are vectors. The rate is `Exponential`, centred.

    It learns from every step as `relaxed_smart` does, and can use the same estimators. With a step size of 0.5, a job
    that pays 6 in a time of 2 moves the value of its state to 3; a state that shares half of the tiles moves half as far:

    >>> from sojourn.agents.protocol import learn
    >>> from sojourn.agents.values.protocol import read
    >>> agent = tile_q(num_inputs=1, num_actions=2, bounds=([0.0], [1.0]), tilings=2, tiles=4, step_size=0.5)
    >>> agent = learn(agent, (0.5,), 0, 6.0, 2.0, (0.9,))
    >>> float(read(agent.values, (0.5,), 0)), float(read(agent.values, (0.4,), 0))
    (3.0, 1.5)
    """
    options = Options(step_size, exploration, greedy, ties, initial)
    known = _rate(rate_step_size, rate, centring)
    return _tiled(
        num_inputs, num_actions, Cut(bounds, tilings, tiles, memory), AverageReward(), known, options
    )


@told
def tile_sarsa(  # as above
    num_inputs: int,
    num_actions: int,
    *,
    bounds: Sides | None = None,
    tilings: int = 8,
    tiles: int = 8,
    memory: int = 65_536,
    step_size: float | Visits = 0.03,
    rate_step_size: float | Visits | None = None,
    exploration: float | Decay | Linear = 0.1,
    ties: str = "random",
    initial: float = 0.0,
    centring: float = 0.1,
    rate: Rate | None = None,
) -> LearningAgent:
    """Sarsa with tiles: it learns what its own behaviour earns, exploration included. Every step is evidence.

    The value of the next state is the mean over the actions that may be drawn there (Expected Sarsa). If half of all
    draws explore, a state with values of 0 and 4 is worth 0.5 * 4 + 0.5 * 2 = 3:

    >>> from sojourn.agents.protocol import learn
    >>> from sojourn.agents.values.protocol import move, read
    >>> agent = tile_sarsa(1, 2, bounds=([0.0], [1.0]), step_size=1.0, exploration=0.5, centring=0.0)
    >>> agent = agent._replace(values=move(agent.values, (0.9,), 1, 4.0))
    >>> float(read(learn(agent, (0.1,), 0, 0.0, 1.0, (0.9,)).values, (0.1,), 0))
    3.0
    """
    options = Options(step_size, exploration, "every", ties, initial)
    known = _rate(rate_step_size, rate, centring)
    return _tiled(num_inputs, num_actions, Cut(bounds, tilings, tiles, memory), Sarsa(), known, options)


def _rate(rate_step_size: float | Visits | None, rate: Rate | None, centring: float) -> Rate:
    if rate is None and rate_step_size is None:
        rate_step_size = _RATE_STEP_SIZE
    return estimator(Exponential, rate_step_size, rate, centring)


def _tiled(
    num_inputs: int, num_actions: int, cut: Cut, method: Method, rate: Rate, options: Options
) -> LearningAgent:
    values = tiled(
        bounds_of(num_inputs, cut.bounds),
        num_actions,
        tilings=cut.tilings,
        tiles=cut.tiles,
        memory=cut.memory,
        initial=options.initial,  # type: ignore[arg-type] # or refused
    )
    return learning_with(values, lambda: emptied(values), rate, method, options)
