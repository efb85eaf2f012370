"""Every agent by name, with what the rest of the code knows about it.

Sweeps, comparisons, the audit, figures, the documentation and the tests know agents only from the
entries here. An entry names its constructor, which is imported when it is needed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from sojourn.data.names import found, is_users, users_constructor
from sojourn.data.numbers import nearest, shown

if TYPE_CHECKING:
    from sojourn.agents.protocol import Agent

_LITERATURE = "sojourn.agents.literature:"
_RELATIVES = "sojourn.agents.relatives:"
_BASELINES = "sojourn.agents.baselines:"
_TILES = "sojourn.agents.tile_agents:"
_STEP_SIZES = (0.01, 0.03, 0.1, 0.3)
_RATE_STEP_SIZES = (0.001, 0.01, 0.1)
_ONE = {"step_size": _STEP_SIZES}
_TWO = {"step_size": _STEP_SIZES, "rate_step_size": _RATE_STEP_SIZES}
_DISCOUNTS = {"step_size": _STEP_SIZES, "discount_rate": (0.003, 0.01, 0.03, 0.1)}


class Look(NamedTuple):
    """How something is drawn: its places in the palettes of colours, dashes and markers."""

    colour: int
    dash: int
    marker: int


class NamedAgent(NamedTuple):
    """What the rest of the code knows about an agent."""

    name: str  # in tables and files
    title: str  # for readers
    constructor: Callable[..., Agent] | str  # or its name, as package.module:name
    estimator: str | None  # of the rate that it learns with; None if it learns with none of the estimators
    look: Look | None = None  # None: any look that is free
    grid: Mapping[str, Sequence[float]] = {}  # the options that a comparison tunes, and their choices
    options: Mapping[str, str | float] = {}  # options that make it a variant of another agent
    per_time: tuple[str, ...] = ()  # options that a comparison divides by the problem's mean duration
    compared: bool = True  # whether comparisons include it

    @property
    def make(self) -> Callable[..., Agent]:
        """Its constructor."""
        return found(self.constructor) if isinstance(self.constructor, str) else self.constructor  # type: ignore[return-value]

    @property
    def kind(self) -> str:
        """The name of its constructor, which sweeps use; in full if it is a user's own, such as `mine:rvi`."""
        given = self.constructor
        if is_users(self.name):
            return self.name
        return given.partition(":")[2] if isinstance(given, str) else given.__name__


AGENTS: dict[str, NamedAgent] = {}


def add_agent(agent: NamedAgent) -> None:
    """Make an agent known by its name to sweeps, comparisons, the audit, figures and the documentation.

    >>> from sojourn.agents.literature import smart
    >>> def lazy(num_states: int, num_actions: int, *, step_size: float = 0.001) -> Agent:
    ...     return smart(num_states, num_actions, step_size=step_size)
    >>> add_agent(NamedAgent("lazy", "Lazy SMART", lazy, "Cumulative"))
    >>> AGENTS.pop("lazy").title
    'Lazy SMART'
    """
    if agent.name in AGENTS:
        raise ValueError(f"there is already an agent {agent.name!r}; give this one another name")
    AGENTS[agent.name] = agent


def named_agent(name: str) -> NamedAgent:
    """Return the entry of an agent by its name, its constructor's name, or a user's `package.module:constructor`.

    A user's agent needs no entry. If its module adds one for the constructor, that is used; otherwise the step sizes
    among its options are tuned like those of other agents.

    >>> named_agent("relaxed-smart-gosavi").title
    'Relaxed-SMART (Gosavi)'
    >>> named_agent("sojourn.agents.literature:smart").grid.keys()
    dict_keys(['step_size'])
    """
    if not is_users(name):
        plain = name.replace("-", "_")
        known = AGENTS.get(plain) or next((agent for agent in AGENTS.values() if agent.kind == plain), None)
        if known is None:
            raise ValueError(f"unknown agent {shown(name)}{nearest(name, AGENTS)}")
        return known
    make = users_constructor(name)
    for agent in AGENTS.values():
        if agent.constructor in (make, name) and not agent.options:
            return agent._replace(name=name)
    options = inspect.signature(make).parameters
    grid = {option: choices for option, choices in _TWO.items() if option in options}
    return NamedAgent(name, name, name, None, grid=grid)


for _agent in (
    NamedAgent("smart", "SMART", _LITERATURE + "smart", "Cumulative", Look(1, 1, 1), _ONE),
    NamedAgent(
        "relaxed_smart", "Relaxed-SMART", _LITERATURE + "relaxed_smart", "Exponential", Look(2, 2, 2), _TWO
    ),
    NamedAgent(
        "relaxed_smart_gosavi",
        "Relaxed-SMART (Gosavi)",
        _LITERATURE + "relaxed_smart",
        "SmoothedCumulative",
        Look(6, 2, 6),
        _TWO,
        {"variant": "gosavi"},
    ),
    NamedAgent(
        "harmonic_r", "Harmonic R-Learning", _LITERATURE + "harmonic_r", "Harmonic", Look(0, 0, 0), _TWO
    ),
    NamedAgent(
        "weighted_harmonic_r",
        "Weighted Harmonic",
        _LITERATURE + "weighted_harmonic_r",
        "WeightedHarmonic",
        Look(5, 0, 5),
        _TWO,
    ),
    NamedAgent(
        "harmonic_r_centred",
        "Harmonic R-Learning, centred",
        _LITERATURE + "harmonic_r",
        None,
        Look(0, 2, 3),
        _TWO,
        {"centring": 0.1},
    ),
    NamedAgent("r_learning", "R-Learning", _LITERATURE + "r_learning", "Incremental", Look(4, 1, 4), _TWO),
    NamedAgent(
        "r_learning_as_printed",
        "R-Learning (durations ignored)",
        _LITERATURE + "r_learning",
        None,
        Look(4, 2, 5),
        _TWO,
        {"durations": "ignored"},
    ),
    NamedAgent(
        "differential_q",
        "Differential Q-learning",
        _RELATIVES + "differential_q",
        "Incremental",
        Look(7, 3, 1),
        _TWO,
    ),
    NamedAgent(
        "smdp_q_learning",
        "SMDP Q-learning",
        _RELATIVES + "smdp_q_learning",
        None,
        Look(4, 0, 3),
        _DISCOUNTS,
        per_time=("discount_rate",),
    ),
    NamedAgent("fixed_rate", "rate fixed at 0", _LITERATURE + "fixed_rate", "Fixed", Look(3, 3, 3), _ONE),
    NamedAgent("rvi_q", "RVI Q-learning", _RELATIVES + "rvi_q", None, Look(7, 1, 2), _ONE),
    NamedAgent("planner", "planner", "sojourn.agents.planning.planner:planner", None, Look(1, 0, 3)),
    NamedAgent("h_learning", "H-learning", "sojourn.agents.h_learning:h_learning", None, Look(6, 3, 0)),
    NamedAgent("greedy_bandit", "greedy bandit", _BASELINES + "greedy_bandit", None, Look(5, 1, 5)),
    NamedAgent(
        "ucb_bandit",
        "UCB bandit",
        _BASELINES + "ucb_bandit",
        None,
        Look(5, 3, 6),
        {"confidence": (0.1, 1.0, 10.0)},
    ),
    NamedAgent("tile_q", "Q-learning with tiles", _TILES + "tile_q", None, compared=False),
    NamedAgent("tile_sarsa", "Sarsa with tiles", _TILES + "tile_sarsa", None, compared=False),
    NamedAgent("oracle", "the optimal policy", "sojourn.agents.oracle:oracle", None, compared=False),
    NamedAgent("random_agent", "random actions", _BASELINES + "random_agent", None, compared=False),
):
    add_agent(_agent)
