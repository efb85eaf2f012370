"""Resolves a learner's environment, or the function that makes one, and its agent.

A learner is trained in one environment and evaluated in others like it: it calls the function that makes them, or
copies the given environment. An agent is given as an object, a constructor or a name; otherwise the learner chooses
one that suits the environment.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias, TypeGuard

from sojourn.agents.constructors import smart, tile_q, tile_sarsa
from sojourn.agents.intra_option import intra_option
from sojourn.agents.networks.deep_q import deep_q
from sojourn.agents.networks.ppo import ppo
from sojourn.agents.networks.protocol import ObservingAgent, Spaces, checked_spaces
from sojourn.agents.networks.sac import sac
from sojourn.agents.planning.planner import planner
from sojourn.agents.protocol import Agent, described
from sojourn.agents.renewal import tile_renewal
from sojourn.agents.values.protocol import reads_vectors
from sojourn.agents.vector_observer import VectorObserver
from sojourn.data.numbers import shown
from sojourn.envs.options import options_of
from sojourn.envs.places import Places, is_vector, single_of
from sojourn.envs.protocol import Environment, VectorEnvironment
from sojourn.envs.reader import is_listed
from sojourn.rules.values import is_value
from sojourn.rules.vectors import Bounds
from sojourn.runs.build import build_agent

MakeEnvironment: TypeAlias = Callable[[], Environment | VectorEnvironment]
EnvironmentSource: TypeAlias = Environment | VectorEnvironment | MakeEnvironment
MakeAgent: TypeAlias = Callable[..., Agent]
MakeObserver: TypeAlias = Callable[..., ObservingAgent]

MOST_PAIRS = 1_000_000  # pairs of state and action for which a planner is chosen: each takes 100 bytes
# The agent where a network is needed. In 0.2, two of five runs of `deep_q` on LunarLander lost 6 and 8 per step after 100,000
# steps, random play 1.9, and the worst of `ppo` 0.1. Since then `deep_q` has been mended, and four runs earned 0.3 to 1.0;
# on the continuous worlds, where more is known, it has not been measured again.
NETWORK: MakeObserver = ppo
_BY_NETWORK = f"it learns {'a policy' if NETWORK is ppo else 'values'}, with a network"
OBSERVERS: dict[str, MakeObserver | MakeAgent] = {
    "deep_q": deep_q,
    "ppo": ppo,
    "sac": sac,
    "tile_q": tile_q,
    "tile_sarsa": tile_sarsa,
    "tile_renewal": tile_renewal,
}
_METHODS = ("draw", "learn", "greedy", "state", "restored")


# --- Environments ---------------------------------------------------------------------


class Supply:
    """The environment that a learner is trained in, and a supply of others like it."""

    def __init__(self, source: EnvironmentSource) -> None:
        self.make = source if makes(source) else None
        self.env = opened(source)  # or a vector of them, for agents of observations

    @property
    def single(self) -> Environment:
        """The environment, if it is a single one."""
        if is_vector(self.env):
            raise TypeError(
                "an agent with a table takes one environment, not a vector of them; give it a single one, or use "
                "deep_q, ppo or sac"
            )
        return self.env

    @contextlib.contextmanager
    def another(self, source: EnvironmentSource | None = None) -> Iterator[Environment]:
        """Yield an environment other than the training's: `source`, if given, else a new one or a copy.

        An environment created for this is closed at the end.
        """
        if source is None:
            source = self._copied() if self.make is None else self.make
        env = single_of(opened(source))
        if env.unwrapped is self.env.unwrapped:
            advice = (
                "the function that makes environments must make a new one each time"
                if makes(source)
                else "pass another one, or none for a copy of it"
            )
            raise ValueError(f"env is the learner's own environment; {advice}")
        try:
            yield env
        finally:
            if makes(source):
                env.close()

    def _copied(self) -> Environment:
        try:
            return copy.deepcopy(single_of(self.env))
        except Exception as error:  # noqa: BLE001 - copying an environment may raise anything
            raise ValueError(
                f"the environment cannot be copied ({type(error).__name__}); give Learner a function that makes one, "
                "Learner(make_env, ...), or pass another one: evaluate(..., env=...) or find_best(env=...)"
            ) from None


def makes(source: EnvironmentSource) -> TypeGuard[MakeEnvironment]:
    """Whether this is a factory of environments (a function or a class) rather than an environment."""
    return callable(source) and (isinstance(source, type) or not hasattr(source, "step"))


def opened(source: EnvironmentSource) -> Environment:
    """Return the environment, or a new one from a factory; refuse anything else."""
    env = source() if makes(source) else source
    missing = [
        name for name in ("observation_space", "action_space", "reset", "step") if not hasattr(env, name)
    ]
    if missing and isinstance(source, type) and not missing[0].startswith("re"):
        raise TypeError(
            f"the class {source.__name__} has no {missing[0]}; give it one, such as gymnasium.spaces.Discrete(5)"
        )
    if missing or isinstance(env, type):
        what = f"the function made {shown(env)}, which" if makes(source) else shown(env)
        why = f"it has no {missing[0]}" if missing else "it is a class"
        raise TypeError(
            f"{what} is not a Gymnasium environment: {why}; make one with gymnasium.make, or "
            "sojourn.envs.WorldEnv(world)"
        )
    return env  # type: ignore[return-value] # it has everything that is needed


# --- Agents with a table --------------------------------------------------------------


def chosen_agent(
    given: Agent | MakeAgent | str | None, options: Mapping[str, Any], num_states: int, num_actions: int
) -> tuple[Agent, str]:
    """Return the agent for an environment of this size, and a sentence that says why.

    It is the one given or named, or a good default.

    >>> chosen_agent(None, {}, num_states=11, num_actions=2)[1]
    'planner, because 11 states can be listed: it learns a model, plans with it, and has nothing to tune'
    >>> chosen_agent("relaxed-smart", {}, num_states=11, num_actions=2)[1]
    'relaxed-smart, as asked for'
    """
    if given is None:
        if options:
            raise TypeError(
                f'{", ".join(options)} cannot be given without an agent; name one, such as Learner(env, "smart", '
                f"{next(iter(options))}=...)"
            )
        return _to_begin_with(num_states, num_actions)
    if isinstance(given, str) and given.replace("-", "_") == "intra_option":
        return intra_option(num_states, num_actions, **options), f"{given}, as asked for"
    if isinstance(given, str):
        agent = build_agent(given.replace("-", "_"), options, num_states, num_actions)
        return agent, f"{given}, as asked for"
    if callable(given):
        agent = given(num_states=num_states, num_actions=num_actions, **options)
        return agent, f"{getattr(given, '__name__', described(agent))}, as asked for"
    _must_be_none(options)
    return given, f"{type(given).__name__}, as given"


def with_courses(given: object, options: Mapping[str, Any], env: Environment) -> dict[str, Any]:
    """Return the options of an agent; one that learns inside options of an environment is told what these do."""
    around = options_of(env)
    wants = (
        given in ("intra_option", "intra-option") if isinstance(given, str) else "courses" in _takes(given)
    )
    if not wants or "courses" in options:
        return dict(options)
    if around is None:
        raise TypeError(
            "intra_option learns from the steps inside options; give Learner an environment of options, "
            "sojourn.envs.Options(env, options)"
        )
    return {**options, "courses": around.courses()}


def _to_begin_with(num_states: int, num_actions: int) -> tuple[Agent, str]:
    if num_states * num_actions <= MOST_PAIRS:
        why = "can be listed: it learns a model, plans with it, and has nothing to tune"
        return planner(num_states, num_actions), f"planner, because {num_states:,} states {why}"
    why = f"with {num_actions} actions are more than a planner has room for: it learns values, one step at a time"
    return smart(num_states, num_actions), f"smart, because {num_states:,} states {why}"


def _must_be_none(options: Mapping[str, Any]) -> None:
    if options:
        raise TypeError(
            f"{', '.join(options)} cannot be given with an agent that is already made; give its constructor instead"
        )


# --- Agents that observe --------------------------------------------------------------


def observer_for(given: object, env: Any, bins: object = None) -> tuple[Any, str] | None:
    """Return the agent of observations for an environment, or its constructor, and a sentence that says why.

    It is the one given or named, or one that suits the environment; None if the agent should have a table.
    """
    if isinstance(given, str) and given.replace("-", "_") in OBSERVERS:
        return OBSERVERS[given.replace("-", "_")], f"{given}, as asked for"
    if _observes(given):
        return given, f"{getattr(given, '__name__', type(given).__name__)}, as asked for"
    if given is not None or bins is not None:
        return None
    if not is_listed(getattr(env, "single_action_space", env.action_space)):
        return ppo, "ppo, because the actions are continuous: it learns a policy, with a network"
    if is_vector(env):
        return NETWORK, f"{NETWORK.__name__}, because there are several environments at once: {_BY_NETWORK}"
    if not is_listed(env.observation_space):
        return NETWORK, f"{NETWORK.__name__}, because the observations cannot be listed: {_BY_NETWORK}"
    return None


def _observes(agent: object) -> bool:
    """Whether this is an agent of observations, or constructs one from `spaces` or for vectors of `num_inputs` numbers."""
    if isinstance(agent, tuple):
        values: Any = getattr(
            agent, "values", ()
        )  # the agent's values, if it is a value: a table, or values of vectors
        return reads_vectors(values)
    is_made = not isinstance(agent, type) and all(hasattr(agent, name) for name in _METHODS)
    return is_made or (callable(agent) and not _takes(agent).isdisjoint(("spaces", "num_inputs")))


def _takes(make: Any) -> set[str]:
    if not callable(make):
        return set()
    try:
        return set(inspect.signature(make).parameters)
    except (TypeError, ValueError):
        return set()


def observing_agent(given: Any, options: Mapping[str, Any], places: Places) -> ObservingAgent:
    """Return the given agent of observations, or construct one for these places."""
    agent = _made(given, dict(options), places)
    missing = [name for name in (*_METHODS, "rate") if not hasattr(agent, name)]
    if missing:
        raise TypeError(
            f"{shown(agent)} has no {missing[0]}; an agent of observations needs {', '.join(_METHODS)} and rate"
        )
    return agent


def _made(given: Any, options: dict[str, Any], places: Places) -> ObservingAgent:
    reader = places.reader
    spaces = Spaces(reader.num_inputs, reader.num_actions, reader.low, reader.high, places.count, places.seed)
    if callable(given) and not isinstance(given, tuple):
        if "spaces" not in _takes(given) and is_listed(reader.space):
            raise ValueError(
                f"the observations are of {shown(reader.space)} and can be listed; use an agent with a table"
            )
        return made_for(given, spaces, reader.bounds, options)
    _must_be_none(options)
    value: Any = given
    made: ObservingAgent = VectorObserver(value, spaces) if is_value(given) else given
    return made


def made_for(make: Any, spaces: Spaces, bounds: Bounds, options: dict[str, Any]) -> ObservingAgent:
    """Construct an agent of observations for spaces; these bounds of the observations are for tiles."""
    if "spaces" in _takes(make):
        agent: ObservingAgent = make(spaces=spaces, **options)
        return agent
    return _of_vectors(make, spaces, bounds, options)


def _of_vectors(make: Any, spaces: Spaces, bounds: Bounds, options: dict[str, Any]) -> VectorObserver:
    """Wrap an agent of vectors as an agent of observations; tiles use these bounds, unless others are given."""
    if isinstance(make, functools.partial):
        return _of_vectors(make.func, spaces, bounds, {**make.keywords, **options})
    kind = next((name for name, known in OBSERVERS.items() if known is make), "")
    checked_spaces(spaces, getattr(make, "__name__", "the agent"), continuous=False)
    given = {"bounds": bounds, **options} if kind else options
    return VectorObserver(make(spaces.num_inputs, spaces.num_actions, **given), spaces, kind, options)
