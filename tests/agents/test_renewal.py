"""Decisions on chances whose next one does not depend on the action."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sojourn as sj
from sojourn.agents import Thompson, UpperBound, renewal, tile_renewal
from sojourn.rules.values import same
from sojourn.worlds.continuous import Offers

CHOOSERS: dict[str, Any] = {"thompson": Thompson(), "bound": UpperBound(0.5), "epsilon": 0.1}
LAWS = sj.laws


def jobs() -> sj.SMDP:
    """Three kinds of jobs come at random, whatever is done; each may be taken or passed."""
    following = {"small": 0.5, "medium": 0.3, "large": 0.2}

    def taken(pay: float, time: float) -> dict[str, Any]:
        job = {
            "reward": LAWS.Lognormal.of(pay, pay),
            "duration": LAWS.Gamma.of(time, time / 2),
            "next": following,
        }
        return {"pass": {"reward": 0.0, "duration": LAWS.Exponential(0.5), "next": following}, "take": job}

    return sj.models.from_dict({"small": taken(1, 1.5), "medium": taken(3, 2), "large": taken(10, 6)})


@pytest.mark.parametrize(
    ("world", "agent"),
    [
        (sj.worlds.Tabular(jobs()), renewal(3, 2)),
        pytest.param(
            sj.worlds.Tabular(jobs()), renewal(3, 2, exploration=UpperBound(0.5)), marks=pytest.mark.evidence
        ),
        # Tiles take twenty seconds to compile; `tile_q` is compiled in any case.
        pytest.param(
            Offers(), tile_renewal(2, 2, tilings=2, tiles=4, exploration=0.1), marks=pytest.mark.evidence
        ),
    ],
    ids=["thompson", "bound", "tiles"],
)
def test_interpreted_and_compiled_runs_are_the_same(world: Any, agent: Any) -> None:
    """With a table and with tiles, and however it chooses, all numbers of the agent agree bit for bit."""
    one, other = (sj.run(world, agent, 300, seed=3, compiled=compiled) for compiled in (True, False))
    assert same(one.agent, other.agent)
    assert one.reward == other.reward


def test_means_price_and_squares_by_the_formulas() -> None:
    """After each of 200 steps, the table has the means, and the price is that of the best actions, worked out from scratch."""
    rng = np.random.default_rng(0)
    agent: Any = renewal(2, 3)
    rows: list[tuple[int, int, float, float]] = []
    earned = passed = 0.0
    for step in range(200):
        state, action = int(rng.integers(2)), int(rng.integers(3))
        reward, duration = float(rng.normal(action, 1.0)), float(rng.exponential(1.0 + state))
        price, before = earned / passed if passed else 0.0, agent.q
        rows.append((state, action, reward, duration))
        agent = sj.learn(agent, state, action, reward, duration, 0)
        mine = [np.array([row[2:] for row in rows if row[:2] == (state, one)]) for one in range(3)]
        if before[state, action] == before[state].max():
            earned, passed = earned + reward, passed + duration
        elif len(mine[before[state].argmax()]):
            earned, passed = np.array([earned, passed]) + mine[before[state].argmax()].mean(axis=0)
        assert agent.values.rewards.q[state, action] == pytest.approx(mine[action][:, 0].mean())
        assert agent.values.times.q[state, action] == pytest.approx(mine[action][:, 1].mean())
        assert agent.values.price == pytest.approx(earned / passed)
        assert agent.tried.steps == step + 1 == agent.tried.visits.q.sum()
        assert agent.tried.all_squares == pytest.approx(agent.tried.squares.q.sum())
        assert before[state, action] == pytest.approx(
            0.0
            if len(mine[action]) == 1
            else mine[action][:-1, 0].mean() - price * mine[action][:-1, 1].mean()
        )


def test_with_a_constant_price_squares_are_those_of_a_sample() -> None:
    """With a fixed rate of 2, the squares of a pair are the sum of squares of r - 2 tau about their mean."""
    rng = np.random.default_rng(1)
    agent: Any = renewal(1, 1, rate=sj.rates.Fixed(2.0))
    worth: list[float] = []
    agent = agent._replace(values=agent.values._replace(price=2.0))
    for _ in range(50):
        reward, duration = rng.normal(), rng.exponential()
        agent = sj.learn(agent, 0, 0, reward, duration, 0)
        worth.append(reward - 2.0 * duration)
    assert agent.tried.squares.q[0, 0] == pytest.approx(50 * np.var(worth))


@pytest.mark.parametrize("name", CHOOSERS)
def test_it_takes_the_jobs_that_are_worth_their_time(name: str) -> None:
    """In each of five runs, the policy is the best one, which a bandit that ignores other jobs does not find."""
    model, best = jobs(), sj.solve(jobs())
    for seed in range(5):
        run = sj.run(
            sj.worlds.Tabular(model),
            renewal(3, 2, exploration=CHOOSERS[name]),
            4000,
            seed=seed,
            compiled=False,
        )
        assert run.policy.tolist() == best.policy.tolist()
        assert sj.value(run.agent.rate) == pytest.approx(best.gain, rel=0.15)
    greedy = sj.run(sj.worlds.Tabular(model), sj.agents.ucb_bandit(3, 2), 4000, seed=0, compiled=False)
    assert greedy.policy.tolist() != best.policy.tolist()


def test_jackpots_are_found() -> None:
    """An arm that pays 100 once in fifty times is found in most of 20 runs; without forced tries, in hardly any."""
    sure = {"reward": LAWS.Gamma.of(1.5, 0.5), "duration": 1.0, "next": "s"}
    model = sj.models.from_dict({"s": {"a": sure, "b": {**sure, "reward": LAWS.TwoPoint(0.0, 100.0, 0.02)}}})
    world = sj.worlds.Tabular(model)
    found = [
        sum(
            int(sj.run(world, renewal(1, 2, exploration=Thompson(tries=tries)), 10_000, seed=seed).policy[0])
            for seed in range(20)
        )
        for tries in (1.0, 0.0)
    ]
    assert found[0] >= 14
    assert found[1] <= 5


def test_tiles_learn_which_offers_to_take() -> None:
    """After 10,000 offers, it earns 97 % of the most that can be had, the offers that it tried included."""
    run = sj.run(Offers(), tile_renewal(2, 2), 10_000, seed=0, compiled=False)
    best = sj.gain(Offers())
    assert best is not None
    assert run.reward / run.duration > 0.97 * best
    assert sj.value(run.agent.rate) == pytest.approx(best, rel=0.05)


def test_what_is_no_agent_is_refused() -> None:
    """Scales and tries below 0, another exploration, and parts of other sizes get a sentence."""
    with pytest.raises(ValueError, match="scale"):
        Thompson(-1.0)
    with pytest.raises(ValueError, match="exploration"):
        renewal(1, 2, exploration=1.5)
    agent: Any = renewal(2, 2)
    other: Any = renewal(3, 2)
    with pytest.raises(ValueError, match="visits are values of another kind or size"):
        sj.run(sj.worlds.Tabular(jobs()), other._replace(tried=agent.tried), 10)
