"""Event simulations in SimPy as Gymnasium environments: processes ask for an action, wait for it, and earn rewards.

SimPy calls the processes that wait for an event one after the other. Here the others are held back as soon as
one of them asks for a decision: it gets its answer, and goes on until it waits again, before the next process
is called and before any other event. So a process that asks sees how things stand at that moment, however
many processes ask at the same instant.
"""

from __future__ import annotations

import copy
import math
from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterable
from heapq import heappop
from typing import Any, NoReturn, TypeAlias

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import ArrayLike, NDArray

from sojourn.data.numbers import Number, finite, shown, unmasked
from sojourn.envs.protocol import FORBIDDEN, Info, element_reader, warn_of
from sojourn.envs.reader import MOST_AT_ONCE
from sojourn.rules.door import told

try:
    import simpy
except ModuleNotFoundError:
    raise ModuleNotFoundError("a simulation needs SimPy: pip install 'sojourn[simpy]'") from None

MOST_EVENTS = 10_000_000  # between two decisions; they take about half a minute

_INF = math.inf

Seen: TypeAlias = Any  # an observation or an action, of any space
Choices: TypeAlias = NDArray[np.int8]  # a 1 for each action that is allowed


class Decision(simpy.Event):
    """An event that happens when the decision has been made; its value is the action."""

    def __init__(self, sim: DecisionEnvironment, observation: Seen, mask: Choices | None) -> None:
        super().__init__(sim)
        self.observation, self.mask = observation, mask

    def make(self, action: Seen) -> None:
        """Make the decision."""
        self._ok, self._value = True, action


@told
class DecisionEnvironment(simpy.Environment):
    """The SimPy environment in which the processes of a `Simulation` run.

    `timeout`, `process`, `now` and all resources work as they always do in SimPy. In addition there are
    `decide`, `earn`, `earn_rate` and, for random numbers, the NumPy generator `rng`.

    >>> from gymnasium.spaces import Discrete
    >>> class Shop(Simulation):
    ...     observation_space, action_space = Discrete(1), Discrete(2)
    ...     def start(self, sim):
    ...         while True:
    ...             action = yield sim.decide(0)
    ...             sim.earn_rate(2.0)
    ...             yield sim.timeout(1.0 + action)
    ...             sim.earn_rate(0.0)
    ...             sim.earn(5.0 * action)
    >>> shop = Shop()
    >>> shop.reset(seed=0)
    (0, {'clock': 0.0})
    >>> shop.step(1)  # two hours at 2 each, and 5
    (0, 9.0, False, False, {'duration': 2.0, 'clock': 2.0})
    """

    def __init__(
        self,
        rng: np.random.Generator,
        observed: Callable[[Seen], Seen],
        allowed: Callable[[ArrayLike], Choices],
        episode: int = 0,
    ) -> None:
        super().__init__()
        # SimPy does this for its own class only.
        for name in ("process", "timeout", "event", "all_of", "any_of"):
            setattr(self, name, getattr(self, name))
        self.rng = rng
        self._observed, self._allowed = observed, allowed
        self._asked: deque[Decision] = deque()
        self._rest: list[tuple[simpy.Event, list[Callable[[simpy.Event], None]]]] = []
        self._earned = self._rate = 0.0
        self._rates: dict[Hashable, float] = {}
        # A copy draws, so that `rng` gives the same numbers with streams or without.
        self._root = int(copy.deepcopy(rng).integers(2**63)), episode
        self._streams: dict[str, np.random.Generator] = {}
        # The times up to which rates have been added, and everything has been collected.
        self._settled = self._collected = 0.0

    # --- For processes ---

    def decide(self, observation: Seen, mask: ArrayLike | None = None) -> Decision:
        """Ask for a decision: `action = yield sim.decide(observation)`.

        `mask` has a 0 or 1 for each action, and only those with a 1 are allowed. No time passes until the
        process gets its action; it then goes on at once.
        """
        choices = None if mask is None else self._allowed(mask)
        decision = Decision(self, self._observed(observation), choices)
        self._asked.append(decision)
        return decision

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

    def run(self, until: object = None) -> NoReturn:
        """Raise an error: `reset` and `step` run a simulation with decisions."""
        raise RuntimeError(
            "this simulation is run by reset() and step(), which wait for decisions; remove sim.run()"
        )

    # --- For the simulation ---

    def until_asked(self) -> Decision:
        """Go on until a process asks for a decision."""
        queue, asked, rest = self._queue, self._asked, self._rest
        for _ in range(MOST_EVENTS):
            if asked:
                return self._awaited(asked.popleft())
            if rest:
                event, callbacks = rest.pop()
            elif queue:
                self._now, _, _, event = heappop(queue)
                callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment] # as SimPy does
            else:
                raise RuntimeError(
                    f"the simulation has no more events after time {self.now}, and no process asks for a decision; let "
                    "some process go on for ever, with `while True:` around its work"
                )
            self._call(event, callbacks)
        raise RuntimeError(
            f"there were {MOST_EVENTS:,} events up to time {self.now} without a decision; some process must ask "
            "for one now and then, with `action = yield sim.decide(...)`"
        )

    def answer(self, decision: Decision, action: Seen) -> None:
        """Give the action to the process that asked for it, and let the process go on."""
        decision.make(action)
        callbacks, decision.callbacks = decision.callbacks, None  # type: ignore[assignment] # as SimPy does
        self._call(decision, callbacks)

    def collect(self) -> tuple[float, float]:
        """Return the reward earned since the last call, and the time that has passed since then."""
        self._settle()
        reward, duration = self._earned, self._now - self._collected
        self._earned, self._collected = 0.0, self._now
        if not 0.0 <= duration < _INF:
            raise RuntimeError(
                f"a time of {duration} passed between two decisions, up to time {self.now}; every process must wait "
                "for a finite time"
            )
        if not -_INF < reward < _INF:
            raise RuntimeError(f"{reward} was earned up to time {self.now}; rewards must stay finite")
        return reward, float(duration)

    def _call(self, event: simpy.Event, callbacks: list[Callable[[simpy.Event], None]]) -> None:
        """Call back those that wait for an event until one asks for a decision; the rest are called later."""
        for done, callback in enumerate(callbacks, 1):
            callback(event)
            if self._asked and done < len(callbacks):
                self._rest.append((event, callbacks[done:]))
                return
        if not event.ok and not event.defused:
            failure = event.value
            assert isinstance(failure, BaseException)
            raise failure

    def _settle(self) -> None:
        """Add what the rates have earned up to now."""
        if self._rate:
            self._earned += self._rate * (self._now - self._settled)
        self._settled = self._now

    def _awaited(self, decision: Decision) -> Decision:
        if not decision.callbacks:
            raise RuntimeError(
                f"a decision was asked for at time {self.now}, but no process waits for it; write "
                "`action = yield sim.decide(...)`"
            )
        return decision


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
    and no time passes, as in `sojourn.envs.WorldEnv`: the same decision is asked for again, the environment warns the first
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
    _episode = 0  # since the last seed
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
        self._episode = 0 if seed is not None else self._episode + 1
        self.sim = sim = DecisionEnvironment(self.np_random, self._observed, self._allowed, self._episode)
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
