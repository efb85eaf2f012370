"""TSDE, UCRL-SMDP and CT-UCRL: the laws that models are drawn from, the most hopeful model, and when episodes end."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import sojourn as sj
from sojourn.agents.planning.episodes import Episode, EpisodicPlanner, kept_of
from sojourn.agents.planning.model import TIMES, SparseCounts, count, no_counts
from sojourn.agents.planning.optimism import (
    BoundedSteps,
    ExponentialSojourns,
    Limits,
    hopeful_model,
    plausible,
)
from sojourn.agents.planning.posterior import UsualStep, drawn_duration, drawn_model, drawn_reward
from sojourn.rules.arrays import Floats
from sojourn.rules.values import same

MAKERS: dict[str, Any] = {
    "tsde": sj.agents.tsde,
    "ucrl_smdp": sj.agents.ucrl_smdp,
    "ct_ucrl": sj.agents.ct_ucrl,
}


def seen_at_random(seed: int, steps: int) -> SparseCounts:
    """Return counts of random steps among three states with two actions."""
    rng, counts = np.random.default_rng(seed), no_counts(3, 2)
    for _ in range(steps):
        pair = int(rng.integers(3)), int(rng.integers(2))
        counts = count(counts, *pair, float(rng.normal()), float(rng.exponential()), int(rng.integers(3)))
    return counts


def often(few: int, many: int) -> list[Any]:
    """Return how often to draw: few times for a test, and many times for evidence."""
    return [few, pytest.param(many, marks=pytest.mark.evidence)]


def close(found: Floats, mean: Any, variance: Any) -> bool:
    """Whether draws have this mean and this variance, each to five of its standard errors."""
    away = (found - mean) ** 2
    of_mean, of_variance = found.std(axis=0), away.std(axis=0)
    errors = 5.0 / math.sqrt(len(found))
    return bool(
        (np.abs(found.mean(axis=0) - mean) < errors * of_mean).all()
        and (np.abs(away.mean(axis=0) - variance) < errors * of_variance).all()
    )


def dirichlet(weights: Floats) -> tuple[Floats, Floats]:
    """Return the means and variances of shares with this law."""
    means = weights / weights.sum()
    return means, means * (1 - means) / (weights.sum() + 1)


@pytest.mark.parametrize("draws", often(400, 20_000))
def test_successors_are_drawn_from_their_posterior(draws: int) -> None:
    """Shares have the means and variances of Dirichlet(1/3 + counts), and not those of Dirichlet(1 + counts)."""
    counts, rng = seen_at_random(1, 15), sj.stream(1)
    usual = UsualStep(steps=15.0, reward=0.0, duration=1.0)
    found = np.zeros((draws, 3))
    for row in found:
        model = drawn_model(counts, np.zeros((3, 2)), usual, 1.0, rng)
        np.add.at(row, model.successor[: model.begin[1]], model.share[: model.begin[1]])
    seen = np.zeros(3)
    link = int(counts.pairs[0, 0, 5])
    while link >= 0:
        seen[int(counts.links[link, 0])] += counts.links[link, TIMES]
        link = int(counts.links[link, 2])
    assert found.sum(axis=1) == pytest.approx(np.ones(len(found)))
    assert close(found, *dirichlet(seen + 1 / 3))
    assert not close(found, *dirichlet(seen + 1.0))


@pytest.mark.parametrize("draws", often(2_000, 40_000))
def test_rewards_and_durations_are_drawn_from_their_posteriors(draws: int) -> None:
    """They have the means and variances of Student's t and of the inverse gamma law, by their textbook formulas."""
    rng = sj.stream(2)
    visits, mean, squares, prior, spread, strength = 9.0, 2.0, 6.0, 1.0, 0.5, 0.5
    found = np.array(
        [drawn_reward(rng, visits, mean, squares, prior, spread, strength) for _ in range(draws)]
    )
    scale = spread + squares / 2 + strength * visits / (strength + visits) * (mean - prior) ** 2 / 2
    centre = (strength * prior + visits * mean) / (strength + visits)
    assert close(found, centre, scale / (2 + visits / 2 - 1) / (visits + strength))
    assert not close(found, centre, scale / (2 + visits / 2 - 1) / (visits / 2 + strength))
    assert not close(found, mean, scale / (2 + visits / 2 - 1) / (visits + strength))
    found = np.array([drawn_duration(rng, visits, mean, 4.0, prior) for _ in range(draws)])
    centre = (prior + 36 * mean) / 37
    assert close(found, centre, centre**2 / 36)
    assert not close(found, centre, centre**2 / 27)


LIMITS = Limits(-3.0, 3.0, 2.0, 0.1, 4.0, 1e-6, of_pairs=0.1, of_successors=1.5)


@pytest.mark.parametrize("seed", range(5))
def test_the_most_hopeful_probabilities_solve_a_linear_program(seed: int) -> None:
    """No probabilities within the radius lead to better states; HiGHS finds the same p h for every pair."""
    counts, rng = seen_at_random(seed, 30), np.random.default_rng(seed)
    h, given = rng.normal(size=3), BoundedSteps(0.05, 1.0, -3.0, 3.0, 0.1, 4.0)
    model = hopeful_model(given, counts, np.zeros((3, 2)), h, 1.0, LIMITS)
    for pair in range(6):
        state, action = divmod(pair, 2)
        rows = slice(model.begin[pair], model.begin[pair + 1])
        assert model.share[rows].sum() == pytest.approx(1.0)
        assert (model.share[rows] >= 0.0).all()
        shares, link = np.zeros(3), int(counts.pairs[state, action, 5])
        while link >= 0:
            shares[int(counts.links[link, 0])] += counts.links[link, 1] / counts.pairs[state, action, 0]
            link = int(counts.links[link, 2])
        hope = plausible(given, counts.pairs, state, action, LIMITS)
        away = np.block([[np.eye(3), -np.eye(3)], [-np.eye(3), -np.eye(3)], [np.zeros(3), np.ones(3)]])
        best = linprog(
            np.append(-h, np.zeros(3)),
            A_ub=away,
            b_ub=np.concatenate([shares, -shares, [hope.radius]]),
            A_eq=[[1.0, 1.0, 1.0, 0.0, 0.0, 0.0]],
            b_eq=[1.0],
        )
        assert model.share[rows] @ h[model.successor[rows]] == pytest.approx(-best.fun)
        assert model.duration[pair] == max(hope.shortest, LIMITS.least)


def test_radii_are_those_of_the_papers() -> None:
    """Worked out by hand for a pair seen 4 times; outside the ranges that are known, nothing is plausible."""
    counts = no_counts(1, 1)
    for _ in range(4):
        counts = count(counts, 0, 0, 1.0, 2.0, 0)
    counts.pairs[0, 0, 6] = 8.0
    limits = Limits(0.0, 2.0, 100.0, 0.0, 50.0, 1e-6, of_pairs=1.4, of_successors=9.0)
    root = math.sqrt(14 * 1.4 / 4)
    hope = plausible(BoundedSteps(0.05, 1.0, 0.0, 2.0, 0.0, 50.0), counts.pairs, 0, 0, limits)
    assert hope == pytest.approx((1.0 + root, 0.0, 50.0, 1.5))
    hope = plausible(ExponentialSojourns(0.05, 0.001, 2.0, 0.0, 50.0), counts.pairs, 0, 0, limits)
    assert hope == pytest.approx((1.0, 2.0 - 0.2 * root, 2.0 + 0.2 * root, 0.0015))
    method, most = ExponentialSojourns(0.05, 1.0, 2.0, 0.1, 0.5), 0.5 * math.sqrt(2 * 3 / math.log(20))
    assert [kept_of(method, duration, 3.0) for duration in (0.99 * most, 1.01 * most)] == [0.99 * most, 0.0]


@pytest.mark.parametrize("runs", often(5, 200))
def test_intervals_of_sojourns_hold(runs: int) -> None:
    """In runs of 1 to 300 exponential sojourns, none has a mean outside CT-UCRL's interval, which allows 5 %."""
    rng, pairs = np.random.default_rng(4), np.zeros((1, 1, 7))
    method = ExponentialSojourns(0.05, 1.0, 1.0, 0.001, 0.7)
    for _ in range(runs):
        total = 0.0
        for visits in range(1, 301):
            total += kept_of(method, float(rng.exponential(0.5)), float(visits))
            pairs[0, 0, 0], pairs[0, 0, 6] = visits, total
            limits = Limits(0.0, 1.0, 1.0, 0.0, 0.7, 1e-6, math.log(2 * visits / 0.05), 1.0)
            hope = plausible(method, pairs, 0, 0, limits)
            assert hope.shortest <= 0.5 <= hope.longest


def course_of(agent: Any) -> Episode:
    """Return when an agent's episodes began."""
    assert isinstance(agent, EpisodicPlanner)
    return agent.course


def test_episodes_end_when_the_papers_say() -> None:
    """One pair for ever: TSDE's episodes have one step more than the last, UCRL's as many as all before together."""
    world = sj.worlds.Tabular(sj.models.from_transitions([(0, 0, 0, 1.0, 1.0, 1.0)]))
    for name, expected in (
        ("tsde", [1, 3, 6, 10, 15]),
        ("ucrl_smdp", [1, 2, 4, 8, 16]),
        ("ct_ucrl", [1, 2, 4, 8, 16]),
    ):
        runs = [sj.run(world, MAKERS[name](1, 1), steps, compiled=False) for steps in range(1, 17)]
        assert sorted({course_of(run.agent).begun for run in runs} - {0}) == [
            step for step in expected if step <= 16
        ]


@pytest.mark.parametrize(
    "name",
    [name if name == "tsde" else pytest.param(name, marks=pytest.mark.evidence) for name in MAKERS],
)
def test_interpreted_and_compiled_are_the_same(name: str) -> None:
    """Bit for bit, in a world with random rewards and durations; two seeds of one agent differ."""
    model = sj.problems.gosavi()
    runs = [
        sj.run(sj.worlds.Tabular(model), MAKERS[name](2, 2), 400, seed=1, compiled=how)
        for how in (True, False)
    ]
    assert same(runs[0].agent, runs[1].agent)
    other = sj.run(sj.worlds.Tabular(model), MAKERS[name](2, 2), 400, seed=2)
    assert not same(other.agent, runs[0].agent)


@pytest.mark.interpreted
@pytest.mark.parametrize("name", MAKERS)
def test_saved_and_loaded_it_goes_on(name: str, tmp_path: Path) -> None:
    """Train, save, load, train is train, bit for bit, and so are the random numbers of TSDE's models."""
    env = sj.envs.WorldEnv(sj.worlds.Tabular(sj.problems.gosavi()))
    whole, halves = (sj.Learner(env, MAKERS[name], seed=3) for _ in range(2))
    whole.train(600)
    halves.train(300)
    halves.save(tmp_path / "agent.zip")
    again = sj.Learner.load(tmp_path / "agent.zip", env)
    again.train(300)
    assert same(again.agent.q, whole.agent.q)
    assert again.rate == whole.rate


def test_wrong_ranges_are_refused() -> None:
    """In a sentence that names the options."""
    with pytest.raises(ValueError, match="longest must not be the smaller one"):
        sj.agents.ct_ucrl(2, 2, shortest=2.0, longest=1.0)
    with pytest.raises(ValueError, match="delta"):
        sj.agents.ucrl_smdp(2, 2, delta=0.0)
    with pytest.raises(ValueError, match="strength"):
        sj.agents.tsde(2, 2, strength=0.0)
