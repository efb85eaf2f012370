"""Queueing networks in Ciw as Gymnasium environments: wherever Ciw asks how to go on, the network may ask for a decision.

Ciw calls functions and objects of yours: a baulking function when somebody arrives, a router when somebody leaves a node, a
discipline when a server is free. Such a call has to return before Ciw goes on. So Ciw runs in a thread of its own; a call
that asks for a decision waits there until it has got its answer, and only one of the two threads runs at any time.

Ciw draws from Python's `random` and from a generator of its own, and both are shared by a whole process. Each network here has its
own states of both, which are put in place before it goes on. So the same seed gives the same run, however many networks take
turns, provided that the rest of the program does not draw from `random` between two steps.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sojourn.envs.deciding import Choices, Deciding, Ledger, Seen
from sojourn.rules.door import told

try:
    import ciw
except ModuleNotFoundError:
    raise ModuleNotFoundError("a network of queues needs Ciw: pip install 'sojourn[ciw]'") from None

MOST_EVENTS = 1_000_000  # between two decisions; they take about a minute


class NetworkDecision(NamedTuple):
    """A decision that the network waits for."""

    observation: Seen
    mask: Choices | None


class _Closed(BaseException):
    """Ends the thread of a network that is no longer wanted."""


@told
class NetworkDecisions(Ledger):
    """What the functions of a network see: the time, decisions, rewards, and Ciw's simulation in `ciw`.

    >>> import ciw
    >>> from gymnasium.spaces import Discrete
    >>> class Door(NetworkSimulation):
    ...     observation_space, action_space = Discrete(9), Discrete(2)
    ...     def start(self, sim):
    ...         def baulks(jobs, **_):
    ...             return 1.0 - sim.decide(jobs, mask=[True, jobs < 8])
    ...         return ciw.Simulation(ciw.create_network(
    ...             arrival_distributions=[ciw.dists.Deterministic(2.0)], number_of_servers=[1],
    ...             service_distributions=[ciw.dists.Deterministic(3.5)], baulking_functions=[baulks]))
    >>> door = Door()
    >>> door.reset(seed=0)[0], door.step(1)[0], door.step(1)[0], door.step(0)[0]
    (0, 1, 1, 1)
    >>> door.sim.now, door.sim.ciw.nodes[1].number_of_individuals
    (8.0, 1)
    >>> door.close()
    """

    ciw: Any  # Ciw's simulation

    def __init__(
        self,
        rng: np.random.Generator,
        observed: Callable[[Seen], Seen],
        allowed: Callable[[ArrayLike], Choices],
        episode: int,
        make: Callable[[NetworkDecisions], Any],
    ) -> None:
        Ledger.__init__(self, rng, observed, allowed, episode)
        self._here, self._there = threading.Semaphore(0), threading.Semaphore(0)  # which thread may run
        self._asked: NetworkDecision | None = None
        self._answer: Seen = None
        self._failure: BaseException | None = None
        self._closed = False
        first = random.Random(self._root[0] + episode)
        self._drawn: Any = first.getstate(), np.random.default_rng(first.getrandbits(63))
        self._thread = threading.Thread(target=self._run, daemon=True, name="sojourn network")
        self.ciw = None
        with _drawing(self):
            self.ciw = make(self)
        if not isinstance(self.ciw, ciw.Simulation):
            raise TypeError(f"start(self, sim) returned {self.ciw!r}; it must return a ciw.Simulation")

    @property
    def now(self) -> float:
        """The time."""
        return 0.0 if self.ciw is None else float(self.ciw.current_time)

    def decide(self, observation: Seen, mask: ArrayLike | None = None) -> Seen:
        """Ask for a decision and return the action; `mask` has a 0 or 1 for each action, and only those with a 1 are allowed.

        It can be called wherever Ciw calls a function or an object of yours. No time passes until it returns.
        """
        if threading.current_thread() is not self._thread:
            raise RuntimeError(
                "decide was called outside the network; call it where Ciw calls your functions"
            )
        self._asked = NetworkDecision(
            self._observed(observation), None if mask is None else self._allowed(mask)
        )
        self._here.release()
        self._there.acquire()
        if self._closed:
            raise _Closed
        return self._answer

    # --- For the environment ---

    def until_asked(self) -> NetworkDecision:
        """Go on until a decision is asked for."""
        self._asked = None
        with _drawing(self):
            if not self._thread.is_alive():
                self._thread.start()
            else:
                self._there.release()
            self._here.acquire()
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        assert self._asked is not None
        return self._asked

    def answer(self, decision: NetworkDecision, action: Seen) -> None:
        """Keep the action for the call that asked for it."""
        self._answer = action

    def close(self) -> None:
        """End the thread."""
        if self._thread.is_alive() and not self._closed:
            self._closed = True
            self._there.release()
            self._thread.join()

    def _run(self) -> None:
        try:
            self._go_on()
        except _Closed:
            return
        except BaseException as failure:  # noqa: BLE001 - raised again by the step that waits for it
            self._failure = failure
        self._here.release()

    def _go_on(self) -> None:
        """Let Ciw have its events, one after the other."""
        sim = self.ciw
        node = sim.find_next_active_node()
        events = 0
        while True:
            if node.next_event_date == float("inf"):
                raise RuntimeError(
                    f"the network has no more events after time {sim.current_time}, and nothing asks for a decision; let "
                    "somebody arrive for ever"
                )
            sim.current_time, asked = node.next_event_date, self._asked
            node = sim.event_and_return_nextnode(node)
            sim.nodes[-1].all_individuals.clear()  # else the memory fills with those who have left
            events = 0 if self._asked is not asked else events + 1
            if events >= MOST_EVENTS:
                raise RuntimeError(
                    f"there were {MOST_EVENTS:,} events up to time {sim.current_time} without a decision; call sim.decide "
                    "where there is something to decide"
                )


class _drawing:  # noqa: N801 - used like a function
    """Puts a network's random numbers in place of those of the network before it."""

    last: NetworkDecisions | None = None

    def __init__(self, sim: NetworkDecisions) -> None:
        self._sim = sim

    def __enter__(self) -> None:
        before = _drawing.last
        if before is self._sim:
            return
        if before is not None:
            before._drawn = random.getstate(), ciw.rng  # noqa: SLF001 - of this file
        state, ciw.rng = self._sim._drawn  # noqa: SLF001
        random.setstate(state)
        _drawing.last = self._sim

    def __exit__(self, *_: object) -> None:
        return


class NetworkSimulation(Deciding):
    """A queueing network in Ciw as a Gymnasium environment.

    ## Description
    Write a class with the two spaces and a method `start(self, sim)` that returns a `ciw.Simulation`. Wherever Ciw calls a
    function or an object of yours, it may ask for a decision, `action = sim.decide(observation, mask=...)`, and earn with
    `sim.earn(reward)` and `sim.earn_rate(rate)`: a baulking function decides who is let in, a router (`ciw.routing.NodeRouting`) where
    somebody goes, a service discipline who is next. `sim.ciw` is Ciw's simulation, once it is made.

    ## Observation space
    The class sets it, as in any Gymnasium environment.

    ## Action space
    The class sets it. Masks are as in `sojourn.envs.Simulation`.

    ## Rewards
    Everything earned from one decision to the next. What is earned before the first decision is not counted.

    ## Durations
    `info["duration"]` is the time from one decision to the next, which may be 0; `info["clock"]` is `sim.now`.

    ## Episode end
    Never. `reset` starts the network again, and `close` ends the thread in which it runs.

    A router that sends customers to one of two queues:

    >>> import ciw
    >>> from gymnasium.spaces import MultiDiscrete, Discrete
    >>> class Choose(ciw.routing.NodeRouting):
    ...     def __init__(self, sim):
    ...         self.sim = sim
    ...     def next_node(self, ind):
    ...         first, second = (node.number_of_individuals for node in self.simulation.nodes[2:4])
    ...         return self.simulation.nodes[2 + self.sim.decide([min(first, 9), min(second, 9)])]
    >>> class TwoQueues(NetworkSimulation):
    ...     observation_space, action_space = MultiDiscrete([10, 10]), Discrete(2)
    ...     def start(self, sim):
    ...         leave = ciw.routing.Leave()
    ...         return ciw.Simulation(ciw.create_network(
    ...             arrival_distributions=[ciw.dists.Deterministic(1.0), None, None],
    ...             service_distributions=[ciw.dists.Deterministic(t) for t in (0.0, 2.0, 3.0)],
    ...             number_of_servers=[1, 1, 1], routing=ciw.routing.NetworkRouting([Choose(sim), leave, leave])))
    >>> shop = TwoQueues()
    >>> shop.reset(seed=0)[0].tolist(), [shop.step(1)[0].tolist() for _ in range(3)]
    ([0, 0], [[0, 1], [0, 2], [0, 3]])
    >>> shop.close()
    """

    sim: NetworkDecisions  # of the episode; there is none before the first reset

    def start(self, sim: NetworkDecisions) -> Any:
        """Return the `ciw.Simulation` of a new episode; your class must define this method."""
        raise NotImplementedError(
            f"{type(self).__name__} has no method start(self, sim); write one that returns a ciw.Simulation"
        )

    def close(self) -> None:
        """End the thread of the network."""
        if hasattr(self, "sim"):
            self.sim.close()

    def _opened(self) -> NetworkDecisions:
        self.close()
        self.sim = NetworkDecisions(self.np_random, self._observed, self._allowed, self._episode, self.start)
        return self.sim
