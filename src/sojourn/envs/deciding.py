"""Environments whose steps last from one decision to the next, in a simulation that asks for decisions.

`Ledger` is what such a simulation earns; `Deciding` is the environment around it. `sojourn.envs.simulation` has those of
SimPy, `sojourn.envs.ciw_simulation` those of Ciw.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Protocol, TypeAlias

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import ArrayLike, NDArray

from sojourn.data.numbers import Number, finite, shown, unmasked
from sojourn.envs.protocol import FORBIDDEN, Info, element_reader, warn_of
from sojourn.envs.reader import MOST_AT_ONCE
from sojourn.rules.door import told

_INF = math.inf

Seen: TypeAlias = Any  # an observation or an action, of any space
Choices: TypeAlias = NDArray[np.int8]  # a 1 for each action that is allowed


class OpenDecision(Protocol):
    """A decision that a simulation waits for."""

    observation: Seen
    mask: Choices | None


class Asking(Protocol):
    """A simulation that runs until it asks for a decision."""

    @property
    def now(self) -> Any:
        """The time."""

    def until_asked(self) -> Any:
        """Go on until a decision is asked for."""

    def answer(self, decision: Any, action: Seen) -> None:
        """Give the action to whoever asked for it."""

    def collect(self) -> tuple[float, float]:
        """Return the reward earned since the last call, and the time that has passed since then."""


@told
class Ledger:
    """What a simulation earns, and its random numbers."""

    def __init__(
        self,
        rng: np.random.Generator,
        observed: Callable[[Seen], Seen],
        allowed: Callable[[ArrayLike], Choices],
        episode: int = 0,
    ) -> None:
        self.rng = rng
        self._observed, self._allowed = observed, allowed
        self._earned = self._rate = 0.0
        self._rates: dict[Hashable, float] = {}
        # A copy draws, so that `rng` gives the same numbers with streams or without.
        self._root = int(copy.deepcopy(rng).integers(2**63)), episode
        self._streams: dict[str, np.random.Generator] = {}
        # The times up to which rates have been added, and everything has been collected.
        self._settled = self._collected = 0.0

    @property
    def now(self) -> Any:
        """The time."""
        raise NotImplementedError

    def earn(self, reward: Number) -> None:
        """Earn a reward now; a cost is a negative reward."""
        if type(reward) is not float or not -_INF < reward < _INF:
            reward = finite(f"the reward earned at time {self.now}", reward)
        self._earned += reward

    def earn_rate(self, rate: Number, source: Hashable = None) -> None:
        """Earn `rate` per unit of time from now on, until it is changed.

        Each `source`, which may be any name or object, has its own rate, and the rates add up.
        """
        if type(rate) is not float or not -_INF < rate < _INF:
            rate = finite(f"the rate of earning at time {self.now}", rate)
        self._settle()
        if rate == 0.0:
            self._rates.pop(source, None)
        else:
            self._rates[source] = rate
        self._rate = math.fsum(self._rates.values())

    def stream(self, name: str) -> np.random.Generator:
        """Return the random numbers of a source of randomness, such as `sim.stream("arrivals")`.

        Each name has its own, from the seed and the name alone. So rules that are compared with the same seeds meet the same
        arrivals, however many numbers other sources draw. Where one stream is enough, `rng` is the quickest.
        """
        found = self._streams.get(name)
        if found is None:
            found = self._streams[name] = np.random.default_rng([*self._root, *name.encode()])
        return found

    def collect(self) -> tuple[float, float]:
        """Return the reward earned since the last call, and the time that has passed since then."""
        self._settle()
        reward, duration = self._earned, self.now - self._collected
        self._earned, self._collected = 0.0, self.now
        if not 0.0 <= duration < _INF:
            raise RuntimeError(
                f"a time of {duration} passed between two decisions, up to time {self.now}; every process must wait "
                "for a finite time"
            )
        if not -_INF < reward < _INF:
            raise RuntimeError(f"{reward} was earned up to time {self.now}; rewards must stay finite")
        return reward, float(duration)

    def _settle(self) -> None:
        """Add what the rates have earned up to now."""
        if self._rate:
            self._earned += self._rate * (self.now - self._settled)
        self._settled = self.now


class Deciding(gymnasium.Env[Any, Any]):
    """An environment whose steps last from one decision of a simulation to the next."""

    metadata = {"render_modes": []}  # noqa: RUF012 - Gymnasium declares it so
    sim: Any  # of the episode; there is none before the first reset

    _decision: OpenDecision | None = None  # the one that waits for an action
    _episode = 0  # since the last seed
    _still = 0  # decisions since time last passed
    _has_warned = False  # of an action that was not allowed

    def _opened(self) -> Asking:
        """Return the simulation of a new episode, in `self.sim`, too."""
        raise NotImplementedError

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
        self._episode = 0 if seed is not None else self._episode + 1
        sim = self._opened()
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

    def _info(self, decision: OpenDecision, info: Info) -> Info:
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
        entries: Any = mask.tolist() if isinstance(mask, np.ndarray) else mask
        listed = list(entries) if isinstance(entries, Iterable) else []
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
