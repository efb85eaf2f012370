"""The deviation of what a policy earns: against simulations, closed forms, and another way to compute it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

import sojourn as sj
from counting import Counted
from sojourn.models import SMDP, from_rates, from_transitions
from sojourn.models.laws import (
    Constant,
    Exponential,
    FlooredNormal,
    Gamma,
    Lognormal,
    TwoPoint,
    Uniform,
    Weibull,
)
from sojourn.runs.store import tabulate
from sojourn.runs.tasks import execute, plan
from sojourn.worlds.tabular import Tabular

KINDS = ("laws of pairs", "laws of transitions", "decisions without time", "rare events", "drawn actions")


def drawn_law(rng: Any, mean: float) -> Any:
    """Any law with this mean, or about."""
    return [
        Constant(mean),
        Exponential(mean),
        Gamma.of(mean, 0.7 * abs(mean)),
        Weibull.of(mean, 0.5 * abs(mean)),
        Lognormal.of(mean, 0.5 * abs(mean)),
        Uniform(0.0, 2.0 * mean),
        FlooredNormal(abs(mean), 0.5 * abs(mean), 0.01),
        TwoPoint(0.5 * mean, 3.0 * mean, 0.2),
    ][rng.integers(8)]


def rows_of(rng: Any, kind: str, states: int) -> list[tuple[Any, ...]]:
    """The transitions of one action, with laws."""
    rows: list[tuple[Any, ...]] = []
    for state in range(states):
        after = rng.choice(states, size=min(3, states), replace=False)
        law = rng.dirichlet(np.ones(len(after)))
        if kind == "rare events" and state == 0:
            law = np.array([0.01, *(0.99 * law[1:] / law[1:].sum())])
        for place, (successor, chance) in enumerate(zip(after, law, strict=True)):
            reward = drawn_law(rng, float(rng.choice([-1.0, 1.0]) * rng.uniform(0.5, 4.0)))
            duration = drawn_law(rng, float(rng.uniform(0.2, 3.0)))
            if kind == "rare events" and state == place == 0:
                reward = 50.0
            timeless = kind == "decisions without time" and state % 3 == 2
            if timeless:
                duration = 0.0
            to = 0 if timeless else int(successor)  # where time passes
            rows.append((state, 0, to, float(chance), reward, duration))
    rows.append((states - 1, 0, 0, 0.5, 1.0, 1.0))  # back to the first state
    rows.extend((state, 0, state + 1, 0.5, Exponential(1.0), 0.5) for state in range(states - 1))
    total: dict[int, float] = {}
    for row in rows:
        total[row[0]] = total.get(row[0], 0.0) + row[3]
    return [(*row[:3], row[3] / total[row[0]], *row[4:]) for row in rows]


def random_case(seed: int) -> tuple[str, float, SMDP]:
    """The kind, the deviation of a policy in a random model, and the model in which nothing but the policy can be followed."""
    rng, kind = np.random.default_rng(seed), KINDS[seed % len(KINDS)]
    states = int(rng.integers(1, 7))
    rows = rows_of(rng, kind, states)
    if kind == "drawn actions":
        other = [(row[0], 1, *row[2:]) for row in rows_of(rng, kind, states)]
        share = rng.uniform(0.1, 0.9, size=states)
        found = sj.evaluate(from_transitions(rows + other), np.column_stack([share, 1.0 - share]))
        mixed = [(*row[:3], row[3] * share[row[0]], *row[4:]) for row in rows]
        mixed += [(row[0], 0, row[2], row[3] * (1.0 - share[row[0]]), *row[4:]) for row in other]
        return kind, found.deviation, from_transitions(mixed)
    model = from_transitions(rows)
    if kind == "laws of pairs":
        model = from_transitions([(*row[:4], 1.0, 1.0) for row in rows]).with_laws(
            [drawn_law(rng, float(rng.uniform(-3.0, -0.5))) for _ in range(states)],
            [drawn_law(rng, float(rng.uniform(0.2, 2.0))) for _ in range(states)],
        )
    return kind, sj.evaluate(model, np.zeros(states, dtype=int)).deviation, model


def simulated(model: SMDP, runs: int, steps: int) -> tuple[float, float]:
    """The 99 % interval of the deviation that runs show, and its ends; every state has one action."""
    gain = sj.evaluate(model, np.zeros(model.num_states, dtype=int)).gain
    found = sj.run_many(Tabular(model), sj.agents.smart(model.num_states, 1), seeds=runs, steps=steps, jobs=1)
    strays = (found["reward"] - gain * found["duration"]) ** 2
    square = float(strays.mean() / found["duration"].mean())
    # The mean of squares of numbers that are not quite normal: its error from the squares themselves.
    wide = max(float(strays.std() / strays.mean()), math.sqrt(2.0)) / math.sqrt(runs)
    reach = 2.576 * wide
    assert chi2.ppf(0.005, runs) / runs > 0.5  # enough runs for an interval of this kind
    return square * (1.0 - reach), square * (1.0 + reach)


@pytest.mark.parametrize("seed", range(10))
def test_the_deviation_is_that_of_runs(seed: int) -> None:
    """In random models of five kinds, what compiled runs earn strays from the gain as the deviation says."""
    kind, deviation, model = random_case(seed)
    low, high = simulated(model, runs=300, steps=3000)
    assert low * 0.9 <= deviation**2 <= high * 1.1, (kind, low, deviation**2, high)


@pytest.mark.evidence
def test_the_deviation_is_that_of_runs_in_200_models(counted: Counted) -> None:
    """The 99 % interval from 1,000 runs holds the deviation in at least 190 of 200 random models, and no other is far off."""
    outside, far = [], []
    for seed in range(200):
        kind, deviation, model = random_case(seed)
        low, high = simulated(model, runs=1000, steps=5000)
        if not low <= deviation**2 <= high:
            outside.append((seed, kind, low, deviation**2, high))
        if not low * 0.85 <= deviation**2 <= high * 1.15:
            far.append(seed)
    counted("deviations confirmed by simulations", tried=200, failed=len(far))
    assert len(outside) <= 10, outside


def test_what_will_have_been_earned() -> None:
    """Of 1,000 runs for a time of 1,000, 95 % earn what the interval of the sentence says, give or take what chance allows."""
    worth = sj.solve(sj.problems.gosavi()).worth
    oracle = sj.runs.Entry("oracle", {"model": "gosavi"})
    sweep = sj.runs.Sweep([sj.runs.Entry("gosavi")], [oracle], list(range(1000)), steps=10_000, time=1000.0)
    earned = np.concatenate(
        [tabulate(task, execute(task).batch, 0.0)[0]["reward"].to_numpy() for task in plan(sweep)]
    )
    low, high = worth.earned(1000.0)
    assert 0.93 <= np.mean((earned >= low) & (earned <= high)) <= 0.97


def test_how_long_it_takes_to_tell() -> None:
    """Two rides, each taken for the time that is said, differ by more than 1.96 standard errors with a probability of 80 %."""
    rides = sj.problems.three_rides()
    mixed, wild = (sj.evaluate(rides, {"choice": ride}) for ride in ("mixed", "wild"))
    rounds, rng = round(mixed.time_to_tell(wild) / 3.0), np.random.default_rng(0)  # of three hours
    good = rng.binomial(rounds, 0.5, size=(2, 10_000))
    apart = (12.0 * rounds + 10.0 * good[0]) - (2.0 * rounds + 28.0 * good[1])
    error = math.hypot(mixed.deviation, wild.deviation) * math.sqrt(3.0 * rounds)
    assert np.mean(np.abs(apart) > 1.96 * error) == pytest.approx(0.8, abs=0.02)


def test_departures_from_a_queue() -> None:
    """What leaves an M/M/1 queue is a Poisson process (Burke), so the number that has left has the variance of its mean."""
    rates: list[tuple[Any, ...]] = [(n, 0, n + 1, 0.5) for n in range(60)]
    rates += [(n, 0, n - 1, 1.0, 1.0) for n in range(1, 61)]
    worth = sj.evaluate(from_rates(rates), [0] * 61)
    assert worth.gain == pytest.approx(0.5, rel=1e-12)
    assert worth.deviation**2 == pytest.approx(0.5, rel=1e-10)


@pytest.mark.parametrize("load", [0.3, 0.5, 0.7])
def test_what_a_queue_holds(load: float) -> None:
    """The integral of the number in an M/M/1 queue has the variance 2 load (1 + load) / (1 - load)^4 per unit time."""
    size = 250
    rates: list[tuple[Any, ...]] = [(n, 0, n + 1, load) for n in range(size)]
    rates += [(n, 0, n - 1, 1.0) for n in range(1, size + 1)]
    worth = sj.evaluate(
        from_rates(rates, earning={(n, 0): float(n) for n in range(size + 1)}), [0] * (size + 1)
    )
    assert worth.gain == pytest.approx(load / (1.0 - load), rel=1e-10)
    assert worth.flowing_deviation**2 == pytest.approx(
        2.0 * load * (1.0 + load) / (1.0 - load) ** 4, rel=1e-8
    )


def test_renewals() -> None:
    """A single state earns 1 in each step: the variance per unit time is that of the number of renewals, Var / E^3."""
    model = from_transitions([(0, 0, 0, 1.0, 1.0, Gamma(shape=4.0, scale=0.5))])
    assert sj.evaluate(model, [0]).deviation ** 2 == pytest.approx(1.0 / 2.0**3, rel=1e-12)


def test_every_class_has_its_own_deviation() -> None:
    """A policy of two recurrent classes has two deviations; asking for one is refused in a sentence."""
    rows = [(0, 0, 0, 0.5, 4.0, 1.0), (0, 0, 0, 0.5, 0.0, 1.0), (1, 0, 1, 1.0, 3.0, 2.0)]
    worth = sj.evaluate(from_transitions(rows), [0, 0])
    assert worth.class_deviations == (2.0, 0.0)
    with pytest.raises(
        ValueError, match="2 recurrent classes, and a deviation for each; use class_deviations"
    ):
        _ = worth.deviation


def test_a_law_without_variance() -> None:
    """A law whose variance does not fit into floats makes the deviation infinite, and only where it matters."""
    wild = Lognormal(1.0, 30.0)
    assert sj.evaluate(from_transitions([(0, 0, 0, 1.0, wild, 1.0)]), [0]).deviation == math.inf
    assert sj.evaluate(from_transitions([(0, 0, 0, 1.0, 0.0, wild)]), [0]).deviation == 0.0
    unused = from_transitions([(0, 0, 0, 1.0, 1.0, 1.0), (0, 1, 0, 1.0, wild, 1.0)])
    assert sj.evaluate(unused, [0]).deviation == 0.0


def test_large_models_are_evaluated_by_one_factorisation() -> None:
    """A walk of 2,000 states has the gain, the law and the deviation that dense linear algebra finds."""
    size, rng = 2000, np.random.default_rng(5)
    rows = [(s, 0, (s + step) % size, 0.5, float(rng.normal()), float(rng.uniform(1.0, 2.0))) for s in range(size) for step in (1, -1)]  # fmt: skip
    rows = [(*row[:3], 0.6 if row[2] == (row[0] + 1) % size else 0.4, *row[4:]) for row in rows]
    model = from_transitions(rows)
    worth = sj.evaluate(model, np.zeros(size, dtype=int))
    matrix = np.zeros((size, size))
    states = np.repeat(np.arange(size), 2)
    matrix[states, model.successor] = model.probability
    law = np.linalg.solve((np.eye(size) - matrix + 1.0).T, np.ones(size))
    reward, duration = np.asarray(model.row_reward), np.asarray(model.row_duration)
    gain = (law[states] * model.probability) @ reward / ((law[states] * model.probability) @ duration)
    right = np.bincount(states, model.probability * (reward - gain * duration))
    bias = np.linalg.solve(np.eye(size) - matrix + law, right)
    delta = reward - gain * duration + bias[model.successor] - bias[states]
    variance = (law[states] * model.probability) @ delta**2 / ((law[states] * model.probability) @ duration)
    assert worth.gain == pytest.approx(gain, rel=1e-9)
    assert worth.stationary == pytest.approx(law, rel=1e-8)
    assert worth.deviation == pytest.approx(math.sqrt(variance), rel=1e-7)
