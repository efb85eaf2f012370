"""SimPy's environment with decisions: processes ask for an action, wait for it, and earn rewards.

SimPy calls the processes that wait for an event one after the other. Here the others are held back as soon as
one of them asks for a decision: it gets its answer, and goes on until it waits again, before the next process
is called and before any other event. So a process that asks sees how things stand at that moment, however
many processes ask at the same instant.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Hashable
from heapq import heappop
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sojourn.data.numbers import Number, finite
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

    >>> from sojourn.envs.simulation import Simulation
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
    ) -> None:
        super().__init__()
        for name in (
            "process",
            "timeout",
            "event",
            "all_of",
            "any_of",
        ):  # SimPy does this for its own class only
            setattr(self, name, getattr(self, name))
        self.rng = rng
        self._observed, self._allowed = observed, allowed
        self._asked: deque[Decision] = deque()
        self._rest: list[tuple[simpy.Event, list[Callable[[simpy.Event], None]]]] = []
        self._earned = self._rate = 0.0
        self._rates: dict[Hashable, float] = {}
        self._settled = self._collected = (
            0.0  # the times up to which rates have been added, and everything collected
        )

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
