"""What a decision of an event simulation costs beside SimPy alone, measured in one run.

    python bench/simulation.py

A queue whose arrivals are let in or turned away runs twice: in SimPy alone, with the decision made by a line of
Python, and as a `Simulation` that is asked for it: with a number as the observation, with a mask beside it, and
with a list of numbers and a mask. The difference is what a decision costs. Blocks alternate, and the median over blocks is shown, so that a busy machine disturbs all alike.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Generator
from typing import Any

import gymnasium as gym
import numpy as np
import simpy

import sojourn as sj

BLOCKS, DECISIONS = 15, 10_000
BOUND = 15.0  # microseconds


class Queue:
    """The queue in SimPy alone: it lets in whoever finds fewer than five."""

    def __init__(self) -> None:
        self.sim, self.rng = simpy.Environment(), np.random.default_rng(0)
        self.jobs = self.decisions = 0
        self.earned = self.since = 0.0
        self.server = simpy.Resource(self.sim)
        self.sim.process(self.arrivals())

    def arrivals(self) -> Generator[Any, Any, None]:
        """Let jobs come, and decide about each."""
        while True:
            yield self.sim.timeout(self.rng.exponential(1.0))
            self.decisions += 1
            if self.jobs < 5:
                self.earned += 5.0
                self.sim.process(self.job())

    def job(self) -> Generator[Any, Any, None]:
        """Wait for the server, be served, and go; being there costs."""
        self.pay()
        self.jobs += 1
        with self.server.request() as turn:
            yield turn
            yield self.sim.timeout(self.rng.exponential(0.8))
        self.pay()
        self.jobs -= 1

    def pay(self) -> None:
        """Pay for those who have been there since this was last done."""
        self.earned -= self.jobs * (self.sim.now - self.since)
        self.since = self.sim.now


class DecidedQueue(sj.envs.Simulation):
    """The same queue, whose arrivals ask."""

    observation_space: gym.Space[Any] = gym.spaces.Discrete(6)
    action_space = gym.spaces.Discrete(2)
    masked = False

    def start(self, sim: sj.envs.DecisionEnvironment) -> None:
        """Begin with nobody."""
        self.jobs, self.server = 0, simpy.Resource(sim)
        sim.process(self.arrivals(sim))

    def arrivals(self, sim: sj.envs.DecisionEnvironment) -> Generator[Any, Any, None]:
        """Let jobs come, and ask about each."""
        while True:
            yield sim.timeout(sim.rng.exponential(1.0))
            if (yield sim.decide(self.observed(), mask=[True, self.jobs < 5] if self.masked else None)):
                sim.earn(5.0)
                sim.process(self.job(sim))

    def observed(self) -> int | list[int]:
        """What there is to see: how many are there."""
        return self.jobs

    def job(self, sim: sj.envs.DecisionEnvironment) -> Generator[Any, Any, None]:
        """Wait for the server, be served, and go; being there costs."""
        self.jobs += 1
        sim.earn_rate(-1.0 * self.jobs)
        with self.server.request() as turn:
            yield turn
            yield sim.timeout(sim.rng.exponential(0.8))
        self.jobs -= 1
        sim.earn_rate(-1.0 * self.jobs)


class MaskedQueue(DecidedQueue):
    """The same, with a mask in every decision."""

    masked = True


class ListedQueue(MaskedQueue):
    """The same, and observations are lists: how many wait, and how many are served."""

    observation_space = gym.spaces.MultiDiscrete([6, 2])

    def observed(self) -> list[int]:
        """What there is to see."""
        return [max(self.jobs - 1, 0), min(self.jobs, 1)]


def alone(queue: Queue) -> float:
    """Return the microseconds of a decision in SimPy alone."""
    until, begin = queue.decisions + DECISIONS, time.process_time()
    while queue.decisions < until:
        queue.sim.step()
    return (time.process_time() - begin) / DECISIONS * 1e6


def asked(queue: DecidedQueue) -> float:
    """Return the microseconds of a decision that is asked for."""
    queue.reset(seed=0)
    begin = time.process_time()
    for _ in range(DECISIONS):
        queue.step(1 if queue.jobs < 5 else 0)
    return (time.process_time() - begin) / DECISIONS * 1e6


def main() -> None:
    """Print a table."""
    plain, queues = (
        Queue(),
        {"a number": DecidedQueue(), "number and mask": MaskedQueue(), "list and mask": ListedQueue()},
    )
    blocks = [(alone(plain), *map(asked, queues.values())) for _ in range(BLOCKS)]
    bare, *times = (statistics.median(column) for column in zip(*blocks, strict=True))
    print(f"{'SimPy alone':16}{bare:8.2f} microseconds between two decisions")
    for name, taken in zip(queues, times, strict=True):
        print(f"{name:16}{taken:8.2f}, {taken - bare:.2f} more")
    print(f"a decision costs at most {max(times) - bare:.2f} microseconds; the bound is {BOUND}")


if __name__ == "__main__":
    main()
