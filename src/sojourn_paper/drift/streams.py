"""Streams of rewards and durations whose true rate is known at every step: nineteen named ones, random ones, and rare events."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
Rng = np.random.Generator


class Stream(NamedTuple):
    """The recorded rewards and durations, the true rate at each step, and the true duration of each step."""

    rewards: Numbers
    durations: Numbers
    truth: Numbers
    lasted: Numbers


class Scenario(NamedTuple):
    """A random kind of stream: how the rate moves, by how much and how fast, its noise, and the coupling of durations."""

    movement: str
    amplitude: float
    hold: float
    noise: str
    coupling: str


MOVEMENTS = ("steady", "levels", "any level", "wander", "season", "growth", "decline", "durations", "scale")
NOISES = ("normal", "lognormal", "wide lognormal", "pareto 2.1", "pareto 3", "rare", "cycle", "wide normal")
COUPLINGS = ("none", "size", "wide durations", "opposite")


def lognormal(rng: Rng, n: int, sigma: float) -> Numbers:
    """Return lognormal numbers of mean 1."""
    return np.exp(sigma * rng.standard_normal(n) - sigma**2 / 2)


def pareto(rng: Rng, n: int, index: float) -> Numbers:
    """Return Pareto numbers of mean 1."""
    return (index - 1) / index * rng.random(n) ** (-1 / index)


def regimes(rng: Rng, begins: Numbers, hold: float) -> npt.NDArray[np.int64]:
    """Return the number of changes before each step; the times between changes are exponential."""
    changes = np.cumsum(rng.exponential(hold, int(4 * begins[-1] / hold) + 20))
    return np.searchsorted(changes, begins, side="right")


def wander(rng: Rng, n: int, hold: float, deviation: float) -> Numbers:
    """Return an Ornstein-Uhlenbeck path with the time constant `hold`."""
    keep = np.exp(-1 / hold)
    moves = deviation * np.sqrt(1 - keep**2) * rng.standard_normal(n)
    path = np.empty(n)
    at = deviation * rng.standard_normal()
    for k in range(n):
        at = keep * at + moves[k]
        path[k] = at
    return path


def factors(rng: Rng, noise: str, n: int) -> Numbers:
    """Return the factors of rewards; their mean is 1, in a cycle over every two steps."""
    if noise == "cycle":
        return np.where(np.arange(n) % 2 == 0, 2 * lognormal(rng, n, 0.3), 0.0)
    makers: dict[str, Callable[[], Numbers]] = {
        "normal": lambda: 1 + 0.5 * rng.standard_normal(n),
        "lognormal": lambda: lognormal(rng, n, 0.5),
        "wide lognormal": lambda: lognormal(rng, n, 1.0),
        "pareto 2.1": lambda: pareto(rng, n, 2.1),
        "pareto 3": lambda: pareto(rng, n, 3.0),
        "rare": lambda: np.where(rng.random(n) < 0.1, 10.0, 0.0),
        "wide normal": lambda: 1 + 3 * rng.standard_normal(n),
    }
    return makers[noise]()


def scenario(rng: Rng, place: int) -> Scenario:
    """Return a random scenario; the kinds of movement rotate."""
    return Scenario(
        MOVEMENTS[place % len(MOVEMENTS)],
        float(np.exp(rng.uniform(np.log(1.2), np.log(15.0)))),
        float(np.exp(rng.uniform(np.log(100.0), np.log(15_000.0)))),
        str(rng.choice(NOISES)),
        str(rng.choice(COUPLINGS)),
    )


def random_stream(rng: Rng, kind: Scenario, n: int) -> Stream:
    """Return a stream of this kind; regime lengths are measured at the pace of the first regime."""
    size, spread = lognormal(rng, n, 0.5), rng.uniform(0.5, 1.5, n)
    durations = {
        "none": spread,
        "size": size * spread,
        "wide durations": lognormal(rng, n, 1.0),
        "opposite": np.exp(-0.25) / size * spread,  # E[1 / size] is e^0.25
    }[kind.coupling]
    begins = np.cumsum(durations) - durations
    count, log_amplitude = regimes(rng, begins, kind.hold), np.log(kind.amplitude)
    alternating = np.where(count % 2 == 0, 1.0, kind.amplitude)
    moves: dict[str, Callable[[], Numbers]] = {
        "levels": lambda: alternating,
        "any level": lambda: np.exp(log_amplitude * rng.uniform(-1, 1, count[-1] + 1))[count],
        "wander": lambda: np.exp(wander(rng, n, kind.hold, log_amplitude / 2)),
        "season": lambda: np.exp(log_amplitude / 2 * np.sin(2 * np.pi * begins / (5 * kind.hold))),
        "growth": lambda: np.exp(2 * log_amplitude * np.arange(n) / n),
        "decline": lambda: np.exp(-2 * log_amplitude * np.arange(n) / n),
        "scale": lambda: alternating,
    }
    pay = moves[kind.movement]() if kind.movement in moves else np.ones(n)
    slow = alternating if kind.movement in ("durations", "scale") else np.ones(n)
    rewards = pay * factors(rng, kind.noise, n)
    if kind.coupling in ("size", "opposite"):
        rewards *= size
    lasted = slow * durations
    return Stream(rewards, lasted, pay / slow, lasted)


NAMED = (
    "stationary", "chain", "switch-rare", "switch-often", "durations-switch", "scale-switch", "random-walk", "sine", "growth",
    "decline", "pareto-reward", "pareto-duration", "pareto+switch", "outlier-duration", "outlier-reward", "missing-duration",
    "jobs-switch", "signs-switch", "bursty",
)  # fmt: skip

_LEVELS = np.array([0.5, 1.0, 2.0])


def rare_events(rng: Rng, event: str, chance: float, n: int) -> Stream:
    """Return a stationary stream on which much depends on rare steps.

    A jackpot pays 1 / chance, and nothing else pays. A disaster costs 1 / (2 chance) of a steady 1 a step. In the third kind
    every step pays 1, and nearly all time is spent in steps of a duration of 1 / chance; others take 0.001.

    >>> rare_events(np.random.default_rng(0), "disaster", 0.5, 4).rewards
    array([1., 0., 0., 0.])
    """
    happens, ones = rng.random(n) < chance, np.ones(n)
    if event == "jackpot":
        return Stream(happens / chance, ones, ones, ones)
    if event == "disaster":
        return Stream(ones - happens / (2 * chance), ones, ones / 2, ones)
    lasted = np.where(happens, 1 / chance, 0.001)
    return Stream(ones, lasted, ones / (1 + 0.001 * (1 - chance)), lasted)


def named_stream(rng: Rng, name: str, n: int) -> Stream:
    """Return a stream of a named kind."""
    size, spread = lognormal(rng, n, 0.5), rng.uniform(0.5, 1.5, n)
    durations, noise = size * spread, size + 0.5 * rng.standard_normal(n)
    if name in ("chain", "pareto-reward", "pareto+switch", "bursty"):
        durations = spread
    if name == "pareto-duration":
        durations, noise = pareto(rng, n, 2.1), 1 + 0.5 * rng.standard_normal(n)
    if name == "jobs-switch":
        jobs = lognormal(rng, n, 1.0)
        durations, noise = jobs * spread, jobs
    if name in ("pareto-reward", "pareto+switch"):
        noise = pareto(rng, n, 2.1)
    if name == "chain":
        noise = np.where(np.arange(n) % 2 == 0, 2 * lognormal(rng, n, 0.5), 0.0)
    begins = np.cumsum(durations) - durations
    pay, slow = np.ones(n), np.ones(n)
    if name in (
        "switch-rare",
        "pareto+switch",
        "outlier-duration",
        "outlier-reward",
        "missing-duration",
        "jobs-switch",
    ):
        count = regimes(rng, begins, 5000.0)
        steps = rng.integers(1, 3, count[-1] + 1)  # to any other of three levels
        pay = _LEVELS[np.cumsum(steps)[count] % 3]
    elif name == "switch-often":
        pay = np.where(regimes(rng, begins, 300.0) % 2 == 0, 1.0, 2.0)
    elif name == "signs-switch":
        pay = np.where(regimes(rng, begins, 1000.0) % 2 == 0, 1.0, -0.5)
    elif name in ("durations-switch", "scale-switch"):
        slow = np.where(regimes(rng, begins, 1000.0) % 2 == 0, 1.0, 10.0)
        pay = slow if name == "scale-switch" else pay
    elif name == "random-walk":
        pay = np.exp(wander(rng, n, 10_000.0, 0.01 * np.sqrt(5000.0)))
    elif name == "sine":
        pay = 1 + 0.5 * np.sin(2 * np.pi * begins / 4000)
    elif name == "growth":
        pay, slow = np.exp(np.log(100.0) * np.arange(n) / n), np.exp(np.log(10.0) * np.arange(n) / n)
    elif name == "decline":
        pay = np.exp(-begins / 10_000)
    elif name == "bursty":  # two states of one law: 2 or nothing, for fifty steps on average
        noise = np.asarray(2.0 * (regimes(rng, np.arange(n, dtype=float), 50.0) % 2), dtype=np.float64)
    rewards, lasted = pay * noise, slow * durations
    wrong = rng.random(n)
    recorded = lasted
    if name == "outlier-duration":
        recorded = np.where(wrong < 0.002, 100 * lasted, lasted)
    elif name == "missing-duration":
        recorded = np.where(wrong < 0.05, 0.001, lasted)
    elif name == "outlier-reward":
        rewards = np.where(wrong < 0.002, 100 * rewards, rewards)
    return Stream(rewards, recorded, pay / slow, lasted)
