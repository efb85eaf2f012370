"""Takes an agent of observations through one environment, or several at once.

`ObservingDriver` does for tiles and networks, Sojourn's or other people's, what `Driver` does for agents with a table of
values. The agent sees arrays of observations; it is any object with the methods of `sojourn.agents.networks.protocol`.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from sojourn.agents.constructors import tile_q, tile_sarsa
from sojourn.agents.networks.base import NetworkAgent
from sojourn.agents.networks.deep_q import deep_q
from sojourn.agents.networks.ppo import ppo
from sojourn.agents.networks.protocol import ObservingAgent, Spaces, Transitions, checked_spaces
from sojourn.agents.protocol import Agent
from sojourn.agents.values.protocol import reads_vectors
from sojourn.agents.vector_observer import VectorObserver
from sojourn.data.numbers import shown
from sojourn.envs.durations import DurationSource
from sojourn.envs.lanes import Lanes, SingleLane
from sojourn.envs.masks import MaskSource, must_be_taken
from sojourn.envs.observing import Observing, Reader, is_listed
from sojourn.envs.protocol import Element, Environment, opener, parts_of
from sojourn.envs.vector_lanes import VectorLanes
from sojourn.envs.vectors import is_vector
from sojourn.learner.evaluation import Pace
from sojourn.learner.reading import time_must_pass
from sojourn.rules.arrays import Flags, Floats
from sojourn.rules.long_run import MicroBatches
from sojourn.rules.values import is_value
from sojourn.rules.vectors import Bounds
from sojourn.runs.recording import Totals

MakeObserver: TypeAlias = Callable[..., ObservingAgent]
MakeVectorAgent: TypeAlias = Callable[..., Agent]

NETWORKS: dict[str, MakeObserver] = {"deep_q": deep_q, "ppo": ppo}
TILES: dict[str, MakeVectorAgent] = {"tile_q": tile_q, "tile_sarsa": tile_sarsa}
OBSERVERS: dict[str, MakeObserver | MakeVectorAgent] = {**NETWORKS, **TILES}
OURS = (NetworkAgent, VectorObserver)  # the kinds of agents that say how they were made
_METHODS = ("draw", "learn", "greedy", "state", "restored")


def observes(agent: object) -> TypeGuard[ObservingAgent | MakeObserver | MakeVectorAgent | Agent]:
    """Whether this is an agent of observations, or makes one from `spaces` or for vectors of `num_inputs` numbers."""
    if isinstance(agent, tuple):
        values: Any = getattr(agent, "values", ())  # if the agent is a value: a table, or values for vectors
        return reads_vectors(values)
    is_made = not isinstance(agent, type) and all(hasattr(agent, name) for name in _METHODS)
    return is_made or (callable(agent) and not _takes(agent).isdisjoint(("spaces", "num_inputs")))


def _takes(make: Callable[..., object]) -> set[str]:
    try:
        return set(inspect.signature(make).parameters)
    except (TypeError, ValueError):
        return set()


class ObservingDriver:
    """An agent of observations in its environments, and where all of them are."""

    def __init__(self, agent: ObservingAgent, lanes: Lanes, totals: Totals = Totals()) -> None:  # noqa: B008 - a value
        missing = [name for name in (*_METHODS, "rate") if not hasattr(agent, name)]
        if missing:
            raise TypeError(
                f"{shown(agent)} has no {missing[0]}; an agent of observations needs {', '.join(_METHODS)} and rate"
            )
        self.agent, self.lanes, self.totals = agent, lanes, totals

    @property
    def seed(self) -> int:
        """The seed of the environments' first episodes and of the agent."""
        return self.lanes.seed

    @property
    def source(self) -> DurationSource:
        """Where the duration of a step is found."""
        return self.lanes.reader.source

    @property
    def num_actions(self) -> int:
        """The number of actions, 0 if they are continuous."""
        return self.lanes.reader.observing.num_actions

    @property
    def rate(self) -> float:
        """The learned rate."""
        return float(self.agent.rate)

    @property
    def largest_value(self) -> float:
        """The size of the largest weight, if the agent is one of Sojourn's."""
        return self.agent.largest_weight if isinstance(self.agent, OURS) else 0.0

    def begin(self) -> None:
        """Begin episodes, unless they are under way."""
        self.lanes.begin()

    def advance(self, last: float, until: float, asked: list[int]) -> None:
        """Take steps until `last` have been taken, the time `until` has come, or an end was asked for."""
        agent, lanes = self.agent, self.lanes
        while self.totals.steps < last and self.totals.duration < until and not asked:
            actions, explored = agent.draw(lanes.observations, lanes.allowed)
            try:
                steps = lanes.step(actions, explored)
            except (TypeError, ValueError) as error:
                raise ValueError(f"step {self.totals.steps}: {error}") from error
            if len(steps.rewards):
                agent.learn(steps)
                self.totals = _counted(self.totals, steps)

    def time_must_pass(self, steps: int) -> None:
        """Raise an error if the last `steps` steps, which took no time at all, are too many."""
        time_must_pass(steps, self.lanes.reader.source)

    def warnings(self) -> list[str]:
        """Return the warnings that are due."""
        sound = math.isfinite(self.rate) and math.isfinite(self.largest_value)
        return [] if sound else ["the weights or the rate are no longer finite; a smaller step size may help"]

    def act(self, observation: Element, action_mask: ArrayLike | None = None) -> Any:
        """Return the best action for an observation, of those that a mask allows."""
        reader = self.lanes.reader
        seen, allowed = reader.observing.flat(observation), reader.checked(action_mask)
        return reader.observing.told(self.agent.greedy(seen[np.newaxis], allowed[np.newaxis]), 0)

    def followed(self, env: Environment, pace: Pace, until: float, seed: int) -> MicroBatches:
        """Follow the greedy policy for the time `until`, and return what it earned."""
        seen = MicroBatches()
        explored: Flags = np.zeros(1, dtype=np.bool_)
        lane = SingleLane(env, self.lanes.reader, seed)
        lane.begin()
        for _ in pace.steps(until, seen, self.time_must_pass):
            step = lane.step(self.agent.greedy(lane.observations, lane.allowed), explored)
            seen.add(float(step.rewards[0]), float(step.durations[0]))
        return seen

    def followed_by(
        self, policy: Callable[[Any], Any], env: Environment, pace: Pace, until: float, seed: int
    ) -> MicroBatches:
        """Follow a function of the observation for the time `until`, and return what it earned."""
        seen, reader = MicroBatches(), self.lanes.reader
        reset = opener(env)
        observation, _ = reset(seed=seed)
        for _ in pace.steps(until, seen, self.time_must_pass):
            action = policy(observation)
            observation, reward, terminated, truncated, info = parts_of(env.step(action))
            duration = reader.duration(observation, action, info)
            reader.observing.flat(observation)  # raises an error if the observation is wrong
            must_be_taken(info)
            seen.add(reader.reward(reward), duration)
            if terminated or truncated:
                observation, _ = reset()
        return seen


class Source(NamedTuple):
    """Where the durations of steps, the masks of actions and the clock are found, and the seed."""

    duration: DurationSource = "duration"
    action_mask: MaskSource | None = None
    seed: int = 0
    clock: str | None = None


class Observer(NamedTuple):
    """An agent of observations, or a function that makes one, and a sentence that says why it was chosen."""

    agent: ObservingAgent | MakeObserver | MakeVectorAgent | Agent
    sentence: str


def observer_for(given: object, env: Any, bins: object = None) -> Observer | None:
    """Return the agent of observations for an environment: the one given or named, or one that suits it.

    Return None if the agent should have a table.
    """
    if isinstance(given, str) and given.replace("-", "_") in OBSERVERS:
        return Observer(OBSERVERS[given.replace("-", "_")], f"{given}, as asked for")
    if observes(given):
        return Observer(given, f"{getattr(given, '__name__', type(given).__name__)}, as asked for")
    if given is not None or bins is not None:
        return None
    space = getattr(env, "single_action_space", env.action_space)
    if not is_listed(space):
        return Observer(ppo, "ppo, because the actions are continuous: it learns a policy, with a network")
    if is_vector(env) or not is_listed(env.observation_space):
        why = (
            "there are several environments at once"
            if is_vector(env)
            else "the observations cannot be listed"
        )
        return Observer(deep_q, f"deep_q, because {why}: it learns values, with a network")
    return None


def driver_for(
    given: ObservingAgent | MakeObserver | MakeVectorAgent | Agent,
    options: Mapping[str, Any],
    env: Any,
    source: Source,
) -> ObservingDriver:
    """Return an agent of observations in its environments."""
    lanes = lanes_of(env, source)
    return ObservingDriver(_made(given, dict(options), lanes), lanes)


def _made(given: Any, options: dict[str, Any], lanes: Lanes) -> ObservingAgent:
    """Return the agent that was given, or make one for these observations."""
    observing = lanes.reader.observing
    spaces = observing.spaces(lanes.places, lanes.seed)
    if callable(given) and "spaces" in _takes(given):
        agent: ObservingAgent = given(spaces=spaces, **options)
        return agent
    if callable(given) and not isinstance(given, tuple):
        if is_listed(observing.space):
            raise ValueError(
                f"the observations are of {shown(observing.space)} and can be listed; use an agent with a table"
            )
        return _of_vectors(given, spaces, observing.bounds, options)
    if options:
        raise TypeError(
            f"{', '.join(options)} cannot be given with an agent that is already made; give its constructor instead"
        )
    value: Any = given
    made: ObservingAgent = VectorObserver(value, spaces) if is_value(given) else given
    return made


def _of_vectors(make: Any, spaces: Spaces, bounds: Bounds, options: dict[str, Any]) -> VectorObserver:
    """Return an agent for vectors as an agent of observations; tiles use these bounds, unless others are given."""
    if isinstance(make, functools.partial):
        return _of_vectors(make.func, spaces, bounds, {**make.keywords, **options})
    kind = next((name for name, known in TILES.items() if known is make), "")
    checked_spaces(spaces, getattr(make, "__name__", "the agent"), continuous=False)
    given = {"bounds": bounds, **options} if kind else options
    return VectorObserver(make(spaces.num_inputs, spaces.num_actions, **given), spaces, kind, options)


def lanes_of(env: Any, source: Source) -> Lanes:
    """Return an environment, or a vector of them, as an agent of observations sees it."""
    if is_vector(env):
        if source.clock is not None:
            raise TypeError(
                "clock is checked in a single environment only; leave it out for a vector of them"
            )
        observing = Observing(env.single_observation_space, env.single_action_space)
        return VectorLanes(env, Reader(observing, source.duration, source.action_mask), source.seed)
    observing = Observing(env.observation_space, env.action_space)
    reader = Reader(observing, source.duration, source.action_mask, source.clock)
    return SingleLane(env, reader, source.seed)


def _counted(totals: Totals, steps: Transitions) -> Totals:
    """Return totals with these steps; those that did not explore are the greedy ones."""
    rewards: Floats = steps.rewards
    durations: Floats = steps.durations
    if len(rewards) == 1:
        reward, duration, greedy = float(rewards[0]), float(durations[0]), not steps.explored[0]
        return Totals(
            totals.steps + 1,
            totals.reward + reward,
            totals.duration + duration,
            totals.greedy_steps + greedy,
            totals.greedy_reward + greedy * reward,
            totals.greedy_duration + greedy * duration,
        )
    taken = ~steps.explored
    return Totals(
        totals.steps + len(rewards),
        totals.reward + float(rewards.sum()),
        totals.duration + float(durations.sum()),
        totals.greedy_steps + int(taken.sum()),
        totals.greedy_reward + float(rewards[taken].sum()),
        totals.greedy_duration + float(durations[taken].sum()),
    )
