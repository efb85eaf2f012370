"""Every agent by name, with what the rest of the code knows about it.

Sweeps, comparisons, the audit, figures, the documentation and the tests know agents only from the
entries here. An entry names its constructor, which is imported when it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from sojourn.data.names import found, is_users, users_constructor
from sojourn.data.numbers import nearest, shown

if TYPE_CHECKING:
    from sojourn.agents.protocol import Agent


class NamedAgent(NamedTuple):
    """What the rest of the code knows about an agent."""

    name: str  # in tables and files
    title: str  # for readers; those of Sojourn's own agents are in `report.looks`
    constructor: Callable[..., Agent] | str  # or its name, as package.module:name
    estimator: str | None  # of the rate that it learns with; None if it learns with none of the estimators
    look: tuple[int, int, int] | None = None  # places among colours, dashes, markers; None: any that are free
    grid: Mapping[str, Sequence[float]] = {}  # the options that a comparison tunes, and their choices
    options: Mapping[str, str | float] = {}  # options that make it a variant of another agent
    per_time: tuple[str, ...] = ()  # options that a comparison divides by the problem's mean duration
    compared: bool = True  # whether comparisons include it without being asked

    @property
    def make(self) -> Callable[..., Agent]:
        """Its constructor."""
        return found(self.constructor) if isinstance(self.constructor, str) else self.constructor  # type: ignore[return-value]

    @property
    def kind(self) -> str:
        """The name of its constructor, which sweeps use; in full if it is a user's own, such as `mine:rvi`."""
        return self.name if is_users(self.name) else self.constructor_name

    @property
    def constructor_name(self) -> str:
        """The name of its constructor, without its module."""
        given = self.constructor
        return given.partition(":")[2] if isinstance(given, str) else given.__name__


AGENTS: dict[str, NamedAgent] = {}


def add_agent(agent: NamedAgent) -> None:
    """Make an agent known by its name to sweeps, comparisons, the audit, figures and the documentation.

    >>> from sojourn.agents.constructors import smart
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

    A user's agent needs no entry. If its module adds one for the constructor, that is used.

    >>> named_agent("relaxed-smart-gosavi").estimator
    'SmoothedCumulative'
    """
    if not is_users(name):
        plain = name.replace("-", "_")
        known = AGENTS.get(plain) or next((agent for agent in AGENTS.values() if agent.kind == plain), None)
        if known is None:
            raise ValueError(f"unknown agent {shown(name)}{nearest(name, AGENTS)}")
        return known
    make = users_constructor(name)
    for agent in AGENTS.values():
        if agent.constructor in (make, name, f"{make.__module__}:{make.__name__}") and not agent.options:
            return agent._replace(name=name)
    return NamedAgent(name, name, name, None)


def _ours(
    name: str,
    constructor: str,
    estimator: str | None,
    *,
    options: Mapping[str, str | float] | None = None,
    per_time: tuple[str, ...] = (),
    compared: bool = True,
) -> NamedAgent:
    """Return the entry of an agent of ours; its title and look are in `report.looks`, its grid in the comparison."""
    path = f"{__package__}.{constructor}"
    return NamedAgent(name, "", path, estimator, options=options or {}, per_time=per_time, compared=compared)


for _agent in (
    _ours("smart", "constructors:smart", "Cumulative"),
    _ours("relaxed_smart", "constructors:relaxed_smart", "Exponential"),
    _ours(
        "relaxed_smart_gosavi",
        "constructors:relaxed_smart",
        "SmoothedCumulative",
        options={"variant": "gosavi"},
    ),
    _ours("harmonic_r", "constructors:harmonic_r", "Harmonic"),
    _ours("weighted_harmonic_r", "constructors:weighted_harmonic_r", "WeightedHarmonic"),
    _ours("harmonic_r_centred", "constructors:harmonic_r", None, options={"centring": 0.1}),
    _ours("r_learning", "constructors:r_learning", "Incremental"),
    _ours("r_learning_as_printed", "constructors:r_learning", None, options={"durations": "ignored"}),
    _ours("differential_q", "constructors:differential_q", "Incremental"),
    _ours("smdp_q_learning", "constructors:smdp_q_learning", None, per_time=("discount_rate",)),
    _ours("fixed_rate", "constructors:fixed_rate", "Fixed"),
    _ours("rvi_q", "constructors:rvi_q", None),
    _ours("red_cvar", "red_cvar:red_cvar", None, compared=False),
    _ours("planner", "planning.planner:planner", None),
    _ours("tsde", "planning.episodes:tsde", None, compared=False),
    _ours("ucrl_smdp", "planning.episodes:ucrl_smdp", None, compared=False),
    _ours("ct_ucrl", "planning.episodes:ct_ucrl", None, compared=False),
    _ours("h_learning", "h_learning:h_learning", None),
    _ours("greedy_bandit", "bandits:greedy_bandit", None),
    _ours("ucb_bandit", "bandits:ucb_bandit", None),
    _ours("renewal", "renewal:renewal", None, compared=False),
    _ours("tile_renewal", "renewal:tile_renewal", None, compared=False),
    _ours("tile_q", "constructors:tile_q", None, compared=False),
    _ours("tile_sarsa", "constructors:tile_sarsa", None, compared=False),
    _ours("oracle", "oracle:oracle", None, compared=False),
    _ours("random_agent", "baselines:random_agent", None, compared=False),
):
    add_agent(_agent)
