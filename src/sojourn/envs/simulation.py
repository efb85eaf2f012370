"""Event simulations in SimPy as Gymnasium environments."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import ArrayLike

from sojourn.data.numbers import shown, unmasked
from sojourn.envs.deciding import Choices, Decision, DecisionEnvironment, Seen
from sojourn.envs.durations import MOST_AT_ONCE
from sojourn.envs.masks import FORBIDDEN, warn_of
from sojourn.envs.protocol import Info, element_reader
from sojourn.rules.door import told


class Simulation(gymnasium.Env[Any, Any]):
    """A SimPy simulation as a Gymnasium environment: processes ask for decisions and earn rewards.

    ## Description
    Write a class with the two spaces and a method `start(self, sim)`, which sets up the simulation and starts
    its processes; `sim` is SimPy's environment. A process asks with
    `action = yield sim.decide(observation, mask=...)` and earns with `sim.earn(reward)` and
    `sim.earn_rate(rate)`. Any number of processes may ask, even at the same instant. If there is only one
    process, `start` may be that process.

    ## Observation space
    The class sets it, as in any Gymnasium environment.

    ## Action space
    The class sets it. If a decision has a mask, it is in `info["action_mask"]`: draw by it, as in
    `action_space.sample(info["action_mask"])`. If an action is given that the mask does not allow, no process gets it
    and no time passes, as in `sojourn.WorldEnv`: the same decision is asked for again, the environment warns the first
    time, `info["forbidden_action"]` is the action, and a `Learner` refuses such a step.

    ## Rewards
    Everything earned from one decision to the next, including rates times the time that they lasted. What is
    earned before the first decision is not counted.

    ## Durations
    `info["duration"]` is the time from one decision to the next, which may be 0; `info["clock"]` is `sim.now`.

    ## Episode end
    Never. `reset` starts the simulation again. Its random numbers, `sim.rng`, go on unless a seed is given.

    The machine in this example earns 3 per hour and breaks down after 2 hours on average. A repair takes 1
    hour and costs 4, or half an hour and costs 6:

    >>> class Machine(Simulation):
    ...     observation_space, action_space = Discrete(1), Discrete(2)
    ...
    ...     def start(self, sim):
    ...         while True:
    ...             sim.earn_rate(3.0)
    ...             yield sim.timeout(sim.rng.exponential(2.0))
    ...             sim.earn_rate(0.0)
    ...             fast = yield sim.decide(0)
    ...             sim.earn(-6.0 if fast else -4.0)
    ...             yield sim.timeout(0.5 if fast else 1.0)
    >>> machine = Machine()
    >>> observation, info = machine.reset(seed=0)
    >>> _, reward, _, _, info = machine.step(1)
    >>> round(reward - 3.0 * (info["duration"] - 0.5), 9)
    -6.0
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - Gymnasium declares it so
    sim: DecisionEnvironment  # of the episode; there is none before the first reset

    _decision: Decision | None = None  # the one that waits for an action
    _still = 0  # decisions since time last passed
    _has_warned = False  # of an action that was not allowed

    def start(self, sim: DecisionEnvironment) -> Generator[Any, Any, Any] | None:
        """Set up the simulation and start its processes; your class must define this method."""
        raise NotImplementedError(
            f"{type(self).__name__} has no method start(self, sim); write one that starts the processes of the simulation"
        )

    @told
    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Seen, Info]:
        """Start the simulation, and let it run until the first decision."""
        super().reset(seed=seed)
        for name in ("observation_space", "action_space"):
            if not isinstance(getattr(self, name, None), gymnasium.Space):
                raise TypeError(
                    f"{type(self).__name__} has no {name}; give the class one of gymnasium.spaces, such as "
                    f"{name} = Discrete(2)"
                )
        self._read_observation = element_reader(self.observation_space)
        self._read_action = element_reader(self.action_space)
        self._decision, self._still = None, 0
        self.sim = sim = DecisionEnvironment(self.np_random, self._observed, self._allowed)
        process = self.start(sim)
        if isinstance(process, Generator):
            sim.process(process)
        self._decision = sim.until_asked()
        sim.collect()
        return self._decision.observation, self._info(self._decision, {})

    def step(self, action: Seen) -> tuple[Seen, float, bool, bool, Info]:
        """Answer the process that asked, and let the simulation run until the next decision."""
        decision, sim = self._decision, getattr(self, "sim", None)
        if decision is None or sim is None:
            raise RuntimeError("the environment has not begun an episode; call reset() before step()")
        action = self._chosen(action)
        if decision.mask is not None and not decision.mask[action - self.action_space.start]:  # type: ignore[attr-defined] # of a Discrete
            if not self._has_warned:
                self._has_warned = True
                warn_of(action, self)
            info = self._info(decision, {"duration": 0.0, FORBIDDEN: action})
            return decision.observation, 0.0, False, False, info
        self._decision = None  # a process that fails ends the episode
        sim.answer(decision, action)
        decision = sim.until_asked()
        reward, duration = sim.collect()
        self._still = 0 if duration > 0.0 else self._still + 1
        if self._still >= MOST_AT_ONCE:
            raise RuntimeError(
                f"the last {self._still:,} decisions were all made at time {sim.now}; several may be, but some "
                "process must let time pass, with `yield sim.timeout(...)`"
            )
        self._decision = decision
        return decision.observation, reward, False, False, self._info(decision, {"duration": duration})

    def _info(self, decision: Decision, info: Info) -> Info:
        info["clock"] = float(self.sim.now)
        if decision.mask is not None:
            info["action_mask"] = decision.mask.copy()
        return info

    def _observed(self, given: Seen) -> Seen:
        """Return an observation in the form of its space; an array is copied."""
        observation = self._read_observation(given)
        if observation is None:
            raise ValueError(
                f"the observation {shown(given)}, in a decision at time {self.sim.now}, is not in the observation "
                f"space, {shown(self.observation_space)}"
            )
        return observation

    def _allowed(self, mask: ArrayLike) -> Choices:
        """Return a mask in the form that Gymnasium's spaces take."""
        space = self.action_space
        if not isinstance(space, Discrete):
            raise TypeError(
                f"a decision at time {self.sim.now} has a mask, but the action space is {shown(space)}; only "
                "Discrete actions can be masked"
            )
        unmasked("the mask of a decision", mask)
        # Counting in a list is faster than comparing a short array.
        listed = (
            mask.tolist()
            if isinstance(mask, np.ndarray)
            else list(mask)
            if isinstance(mask, Iterable)
            else []
        )
        ones = listed.count(1)
        if ones == 0 or ones + listed.count(0) < len(listed) or len(listed) != space.n:
            raise ValueError(
                f"the mask of a decision at time {self.sim.now} is {shown(mask)}; it must have a 0 or 1 for each of "
                f"the {space.n} actions, and at least one 1"
            )
        return np.array(listed, dtype=np.int8)

    def _chosen(self, given: Seen) -> Seen:
        """Return an action as a process gets it, or refuse it."""
        action = self._read_action(given)
        if action is None:
            raise ValueError(
                f"the action {shown(given)} is not in the action space, {shown(self.action_space)}"
            )
        return action
