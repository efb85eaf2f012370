"""Simulations in SimPy, each with the exact model that it is a simulation of."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import numpy as np
import simpy
from gymnasium.spaces import Discrete, MultiDiscrete

import sojourn as sj

Process = Generator[Any, Any, None]
Sim = sj.envs.DecisionEnvironment


class Queue(sj.envs.Simulation):
    """`sj.problems.admission_control`: each arrival sees how many are there, and is let in or not."""

    observation_space, action_space = Discrete(7), Discrete(2)

    def start(self, sim: Sim) -> None:
        self.jobs, self.server = 0, simpy.Resource(sim)
        sim.process(self.arrivals(sim))

    def arrivals(self, sim: Sim) -> Process:
        while True:
            yield sim.timeout(sim.rng.exponential(1.0))
            if (yield sim.decide(self.jobs, mask=[True, self.jobs < 6])):
                sim.earn(5.0)
                sim.process(self.job(sim))

    def job(self, sim: Sim) -> Process:
        self.jobs += 1
        sim.earn_rate(-1.0 * self.jobs)
        with self.server.request() as turn:
            yield turn
            yield sim.timeout(sim.rng.exponential(1.0 / 1.2))
        self.jobs -= 1
        sim.earn_rate(-1.0 * self.jobs)


ARRIVALS, SERVICES, PAYS, HOLDING, IMPATIENCE = (1.2, 0.8), (0.6, 1.0), (8.0, 3.0), (1.0, 0.6), (0.0, 0.3)
ROOM, SERVERS = 6, 3


class CallCentre(sj.envs.Simulation):
    """Two classes of calls and three servers: whom to serve, if anybody, when a call comes or is done."""

    observation_space = MultiDiscrete([ROOM + 1, ROOM + 1, SERVERS + 1, SERVERS + 1])  # waiting, in service
    action_space = Discrete(3)  # nobody, the first class, the second

    def start(self, sim: Sim) -> None:
        self.waiting: list[list[object]] = [[], []]
        self.served = [0, 0]
        for kind in (0, 1):
            sim.process(self.arrivals(sim, kind))

    def arrivals(self, sim: Sim, kind: int) -> Process:
        while True:
            yield sim.timeout(sim.rng.exponential(1.0 / ARRIVALS[kind]))
            if len(self.waiting[kind]) < ROOM:
                call = object()
                self.waiting[kind].append(call)
                self.hold(sim)
                if IMPATIENCE[kind]:
                    sim.process(self.patience(sim, kind, call))
            yield from self.dispatch(sim)

    def patience(self, sim: Sim, kind: int, call: object) -> Process:
        yield sim.timeout(sim.rng.exponential(1.0 / IMPATIENCE[kind]))
        if call in self.waiting[kind]:
            self.waiting[kind].remove(call)
            self.hold(sim)

    def service(self, sim: Sim, kind: int) -> Process:
        yield sim.timeout(sim.rng.exponential(1.0 / SERVICES[kind]))
        self.served[kind] -= 1
        sim.earn(PAYS[kind])
        yield from self.dispatch(sim)

    def dispatch(self, sim: Sim) -> Process:
        while sum(self.served) < SERVERS and any(self.waiting):
            first, second = map(len, self.waiting)
            action = yield sim.decide([first, second, *self.served], mask=[True, first > 0, second > 0])
            if action == 0:
                return
            self.waiting[action - 1].pop(0)
            self.served[action - 1] += 1
            self.hold(sim)
            sim.process(self.service(sim, action - 1))

    def hold(self, sim: Sim) -> None:
        sim.earn_rate(-sum(cost * len(calls) for cost, calls in zip(HOLDING, self.waiting, strict=True)))


def call_centre_model() -> sj.SMDP:
    """The exact model: "?" before a state is a decision, which takes no time, and without it time passes."""
    rows: list[Any] = []
    found: set[str] = set()
    ahead: list[str] = []

    def to(state: tuple[int, ...], decide: bool) -> str:
        name = " ".join(map(str, state))
        if decide and sum(state[2:]) < SERVERS and sum(state[:2]) > 0:
            name = "? " + name
        if name not in found:
            found.add(name)
            ahead.append(name)
        return name

    def changed(state: tuple[int, ...], by: dict[int, int]) -> tuple[int, ...]:
        return tuple(number + by.get(place, 0) for place, number in enumerate(state))

    to((0, 0, 0, 0), False)
    while ahead:
        name = ahead.pop()
        state = tuple(int(word) for word in name.split() if word != "?")
        if name.startswith("?"):
            rows.append((name, "nobody", to(state, False), 1.0, 0.0, 0.0))
            rows += [
                (name, action, to(changed(state, {k: -1, 2 + k: 1}), True), 1.0, 0.0, 0.0)
                for k, action in enumerate(("first", "second"))
                if state[k]
            ]
            continue
        moves = []  # rate, state after it, what it pays, whether there is a decision
        for k in (0, 1):
            moves.append((ARRIVALS[k], changed(state, {k: int(state[k] < ROOM)}), 0.0, True))
            moves.append((SERVICES[k] * state[2 + k], changed(state, {2 + k: -1}), PAYS[k], True))
            moves.append((IMPATIENCE[k] * state[k], changed(state, {k: -1}), 0.0, False))
        total = sum(move[0] for move in moves)
        cost = sum(price * number for price, number in zip(HOLDING, state, strict=False))
        rows += [
            (name, "nobody", to(after, decide), rate / total, pay - cost / total, 1.0 / total)
            for rate, after, pay, decide in moves
            if rate > 0.0
        ]
    return sj.models.from_transitions(rows, action_names=["nobody", "first", "second"])


def policy_by_state(model: sj.SMDP, by_observation: Sequence[int]) -> list[int]:
    """The action for each state of the model, from those for each observation of a `CallCentre`."""
    assert model.state_names is not None
    return [by_observation[_number(name)] if name.startswith("?") else 0 for name in model.state_names]


def policy_by_observation(model: sj.SMDP, by_state: Sequence[int]) -> list[int]:
    """The action for each observation of a `CallCentre`, from those for each state of the model."""
    assert model.state_names is not None
    policy = [0] * int(np.prod(CallCentre.observation_space.nvec))
    for name, action in zip(model.state_names, by_state, strict=True):
        if name.startswith("?"):
            policy[_number(name)] = int(action)
    return policy


def _number(name: str) -> int:
    """The number that a learner gives to the observation of a state of the model."""
    digits = [int(word) for word in name.split() if word != "?"]
    return int(np.ravel_multi_index(digits, CallCentre.observation_space.nvec))


TANK, TRUCK, PRICE = 20, 10, 6.0  # in units of 10 litres; minutes; of a truck, where 10 litres earn 1
CARS = range(3, 10)  # minutes from one car to the next, all equally likely
WANTED = (2, 3, 4)


class GasStation(sj.envs.Simulation):
    """Every minute: call a truck that fills the tank in ten minutes? With `timed`, the time since the last car is seen."""

    action_space = Discrete(2)

    def __init__(self, timed: bool = False) -> None:
        self.timed = timed
        self.observation_space = MultiDiscrete([TANK + 1, CARS.stop]) if timed else Discrete(TANK + 1)

    def start(self, sim: Sim) -> None:
        self.level, self.last = TANK, 0.0
        sim.process(self.cars(sim))
        sim.process(self.watch(sim))

    def cars(self, sim: Sim) -> Process:
        while True:
            yield sim.timeout(sim.stream("cars").choice(CARS))
            wanted, self.last = int(sim.stream("litres").choice(WANTED)), sim.now
            if wanted <= self.level:
                self.level -= wanted
                sim.earn(wanted)

    def watch(self, sim: Sim) -> Process:
        yield sim.timeout(0.5)
        while True:
            since = int(sim.now - self.last)
            if (yield sim.decide([self.level, since] if self.timed else self.level)):
                sim.earn(-PRICE)
                yield sim.timeout(TRUCK)
                self.level = TANK
            else:
                yield sim.timeout(1.0)


def gas_station_model() -> sj.SMDP:
    """The exact model; a state is the level and the whole minutes since the last car."""

    def later(chances: dict[tuple[int, int], float]) -> tuple[dict[tuple[int, int], float], float]:
        """Where the station is a minute later, and what it has earned."""
        after: dict[tuple[int, int], float] = {}
        earned = 0.0
        for (level, since), chance in chances.items():
            comes = 1.0 / len([gap for gap in CARS if gap > since]) if since + 1 in CARS else 0.0
            moves = [((level, since + 1), 1.0 - comes, 0)]
            moves += [
                ((level - w, 0), comes / 3.0, w) if w <= level else ((level, 0), comes / 3.0, 0)
                for w in WANTED
            ]
            for state, share, sold in moves:
                if share > 0.0:
                    after[state] = after.get(state, 0.0) + chance * share
                    earned += chance * share * sold
        return after, earned

    rows: list[Any] = []
    for level in range(TANK + 1):
        for since in range(CARS.stop - 1):
            now, total = {(level, since): 1.0}, -PRICE
            waited, sold = later(now)
            rows += [(f"{level} {since}", "wait", f"{a} {b}", p, sold, 1.0) for (a, b), p in waited.items()]
            for _ in range(TRUCK):
                now, sold = later(now)
                total += sold
            filled: dict[int, float] = {}
            for (_, gap), chance in now.items():
                filled[gap] = filled.get(gap, 0.0) + chance
            rows += [
                (f"{level} {since}", "call", f"{TANK} {gap}", p, total, float(TRUCK))
                for gap, p in filled.items()
            ]
    return sj.models.from_transitions(rows, action_names=["wait", "call"])


URGENT, LONG = (0.3, 1.0, -4.0, 10.0), (0.4, 0.5, -0.5, 8.0)  # arrival rate, service rate, cost per time, pay
WAITING, SWITCH = 3, 3.0  # at most so many of each kind; the cost of preempting


class Preempted(sj.envs.Simulation):
    """An urgent job may preempt a long one, whose process then decides whether to wait or to leave."""

    observation_space = MultiDiscrete([2, WAITING + 1, WAITING + 1])  # who asks, urgent jobs, long jobs
    action_space = Discrete(2)

    def start(self, sim: Sim) -> None:
        self.server = simpy.PreemptiveResource(sim)
        self.jobs, self.is_long = [0, 0], False  # what is in service
        sim.process(self.arrivals(sim, 0, URGENT))
        sim.process(self.arrivals(sim, 1, LONG))

    def arrivals(self, sim: Sim, kind: int, law: tuple[float, ...]) -> Process:
        while True:
            yield sim.timeout(sim.rng.exponential(1.0 / law[0]))
            if self.jobs[kind] < WAITING:
                sim.process(self.long(sim) if kind else self.urgent(sim))

    def urgent(self, sim: Sim) -> Process:
        preempt = self.is_long and self.jobs[0] == 0 and (yield sim.decide([0, *self.jobs]))
        if preempt:
            sim.earn(-SWITCH)
        self.count(sim, 0, 1)
        with self.server.request(priority=0, preempt=bool(preempt)) as turn:
            yield turn
            yield sim.timeout(sim.rng.exponential(1.0 / URGENT[1]))
        sim.earn(URGENT[3])
        self.count(sim, 0, -1)

    def long(self, sim: Sim) -> Process:
        self.count(sim, 1, 1)
        leaves = False
        while not leaves:
            with self.server.request(priority=1) as turn:
                yield turn
                self.is_long = True
                try:
                    yield sim.timeout(sim.rng.exponential(1.0 / LONG[1]))
                    sim.earn(LONG[3])
                    leaves = True
                except simpy.Interrupt:
                    leaves = yield sim.decide([1, *self.jobs])
                self.is_long = False
        self.count(sim, 1, -1)

    def count(self, sim: Sim, kind: int, more: int) -> None:
        self.jobs[kind] += more
        sim.earn_rate(URGENT[2] * self.jobs[0] + LONG[2] * self.jobs[1])


def preempted_model() -> sj.SMDP:
    """The exact model: "0" and "1" before the jobs are decisions of an urgent job and of a long one that lost its turn."""

    def named(urgent: int, long: int, is_long: bool) -> str:
        return f"{urgent} {long} {'long' if is_long and long else 'urgent' if urgent else 'long' if long else 'free'}"

    rows: list[Any] = []
    for urgent in range(WAITING + 1):
        for long in range(WAITING + 1):
            for is_long in {bool(long), bool(long) and not urgent}:
                moves = []  # rate, state after it, what it pays
                if urgent < WAITING:
                    asks = is_long and urgent == 0
                    moves.append(
                        (URGENT[0], f"? 0 {long}" if asks else named(urgent + 1, long, is_long), 0.0)
                    )
                if long < WAITING:
                    moves.append((LONG[0], named(urgent, long + 1, is_long or urgent + long == 0), 0.0))
                if is_long:
                    moves.append((LONG[1], named(urgent, long - 1, urgent == 0), LONG[3]))
                elif urgent:
                    moves.append((URGENT[1], named(urgent - 1, long, urgent == 1), URGENT[3]))
                total = sum(rate for rate, *_ in moves)
                cost = (URGENT[2] * urgent + LONG[2] * long) / total
                here = named(urgent, long, is_long)
                rows += [
                    (here, "no", there, rate / total, pay + cost, 1.0 / total) for rate, there, pay in moves
                ]
    for long in range(1, WAITING + 1):
        rows += [
            (f"? 0 {long}", "no", named(1, long, True), 1.0, 0.0, 0.0),
            (f"? 0 {long}", "yes", f"? 1 {long}", 1.0, -SWITCH, 0.0),
            (f"? 1 {long}", "no", named(1, long, False), 1.0, 0.0, 0.0),
            (f"? 1 {long}", "yes", named(1, long - 1, False), 1.0, 0.0, 0.0),
        ]
    return sj.models.from_transitions(rows, action_names=["no", "yes"])
