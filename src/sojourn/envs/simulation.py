"""Event simulations in SimPy as Gymnasium environments: processes ask for an action, wait for it, and earn rewards.

SimPy calls the processes that wait for an event one after the other. Here the others are held back as soon as
one of them asks for a decision: it gets its answer, and goes on until it waits again, before the next process
is called and before any other event. So a process that asks sees how things stand at that moment, however
many processes ask at the same instant.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from heapq import heappop
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from sojourn.data.moved import moved_names
from sojourn.envs.deciding import Choices, Deciding, Ledger, Seen
from sojourn.rules.door import told

try:
    import simpy
except ModuleNotFoundError:
    raise ModuleNotFoundError("a simulation needs SimPy: pip install 'sojourn[simpy]'") from None

__getattr__ = moved_names(__name__)

MOST_EVENTS = 10_000_000  # between two decisions; they take about half a minute


class Decision(simpy.Event):
    """An event that happens when the decision has been made; its value is the action."""

    def __init__(self, sim: DecisionEnvironment, observation: Seen, mask: Choices | None) -> None:
        super().__init__(sim)
        self.observation, self.mask = observation, mask

    def make(self, action: Seen) -> None:
        """Make the decision."""
        self._ok, self._value = True, action


@told
class DecisionEnvironment(simpy.Environment, Ledger):
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
        simpy.Environment.__init__(self)
        Ledger.__init__(self, rng, observed, allowed, episode)
        # SimPy does this for its own class only.
        for name in ("process", "timeout", "event", "all_of", "any_of"):
            setattr(self, name, getattr(self, name))
        self._asked: deque[Decision] = deque()
        self._rest: list[tuple[simpy.Event, list[Callable[[simpy.Event], None]]]] = []

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

    def _awaited(self, decision: Decision) -> Decision:
        if not decision.callbacks:
            raise RuntimeError(
                f"a decision was asked for at time {self.now}, but no process waits for it; write "
                "`action = yield sim.decide(...)`"
            )
        return decision


class Simulation(Deciding):
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

    >>> from gymnasium.spaces import Discrete
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

    sim: DecisionEnvironment  # of the episode; there is none before the first reset

    def start(self, sim: DecisionEnvironment) -> Generator[Any, Any, Any] | None:
        """Set up the simulation and start its processes; your class must define this method."""
        raise NotImplementedError(
            f"{type(self).__name__} has no method start(self, sim); write one that starts the processes of the simulation"
        )

    def _opened(self) -> DecisionEnvironment:
        self.sim = DecisionEnvironment(self.np_random, self._observed, self._allowed, self._episode)
        process = self.start(self.sim)
        if isinstance(process, Generator):
            self.sim.process(process)
        return self.sim
