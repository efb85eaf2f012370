"""RED CVaR Q-learning: what it finds, against the exact CVaR of every policy, and where it does not find the best."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from sojourn.agents import red_cvar
from sojourn.exact import cvar
from sojourn.models import SMDP, from_transitions
from sojourn.models.problems import jobs, red_pill_blue_pill, three_rides

LEARNING: dict[str, Any] = {"step_size": 0.02, "rate_step_size": 0.002, "quantile_step_size": 0.002}


def line_of_jobs(size: int = 5) -> SMDP:
    """A job comes in half of the periods; being quick ends one in .8 of the periods instead of .55, and costs 2. n wait for n^2 / 2."""
    chances: dict[tuple[int, int, int], float] = {}
    for n in range(size + 1):
        for quick in range(2 if n else 1):
            done = (0.55, 0.8)[quick] if n else 0.0
            for come, served in itertools.product((0, 1), (0, 1)):
                chance = 0.5 * (done if served else 1.0 - done)
                key = n, quick, min(size, n - served + come)
                if chance:
                    chances[key] = chances.get(key, 0.0) + chance
    return from_transitions(
        [(*key, chance, -(key[0] ** 2 / 2 + 2 * key[1]), 1.0) for key, chance in chances.items()]
    )


def all_cvars(model: SMDP, level: float, per: str = "steps") -> dict[tuple[int, ...], float]:
    """The exact CVaR of every policy."""
    actions = [model.action[a:b].tolist() for a, b in itertools.pairwise(model.pair_offsets.tolist())]
    return {policy: cvar(model, list(policy), level, per=per) for policy in itertools.product(*actions)}


def policies(model: SMDP, agent: Any, seeds: int, steps: int) -> list[tuple[int, ...]]:
    return [
        tuple(sj.run(sj.worlds.Tabular(model), agent, steps, seed=seed).policy.tolist())
        for seed in range(seeds)
    ]


def test_the_pills() -> None:
    """By CVaR the red pill is found and by the mean the blue one, each in at least 19 of 20 runs; the rate is the CVaR."""
    pills = red_pill_blue_pill()
    runs = [
        sj.run(sj.worlds.Tabular(pills), red_cvar(2, 2, **LEARNING), 100_000, seed=seed) for seed in range(20)
    ]
    assert sum(run.policy.tolist() == [0, 0] for run in runs) >= 19
    assert np.mean([run.rate for run in runs]) == pytest.approx(-0.76356, abs=0.003)
    assert np.mean([run.agent.method.quantile for run in runs]) == pytest.approx(
        -0.7 - 0.05 * 0.67449, abs=0.005
    )
    assert policies(pills, sj.smart(2, 2), seeds=20, steps=100_000).count((1, 1)) >= 19


def test_a_line_of_jobs() -> None:
    """Where the mean and the worst quarter want different policies, most runs find the best of the 32, the others nearly."""
    model = line_of_jobs()
    truth = all_cvars(model, 0.25)
    best = max(truth, key=lambda policy: truth[policy])
    mean = tuple(sj.solve(model).policy.tolist())
    assert (mean, best) == ((0, 0, 1, 1, 1, 1), (0, 1, 1, 1, 1, 1))
    assert (truth[mean], truth[best]) == pytest.approx((-5.14021, -3.98040), abs=1e-5)
    step_size = sj.rates.Visits(1.0, 0.65, 0.0005)
    agent = red_cvar(6, 2, step_size=step_size, rate_step_size=0.001)
    found = policies(model, agent, seeds=10, steps=300_000)
    assert found.count(best) >= 8
    assert sum(truth[policy] > truth[best] - 0.05 for policy in found) >= 9


@pytest.mark.parametrize(("model", "best"), [(three_rides(), (2, 0)), (jobs(), (1,))], ids=["rides", "jobs"])
def test_the_worst_share_of_time(model: SMDP, best: tuple[int, ...]) -> None:
    """Per unit of time it finds the largest rate in the worst quarter of the time, where steps would leave two equally good."""
    truth, by_steps = all_cvars(model, 0.25, "duration"), all_cvars(model, 0.25)
    assert max(truth, key=lambda policy: truth[policy]) == best
    assert sum(one > max(by_steps.values()) - 1e-9 for one in by_steps.values()) == 2
    agent = red_cvar(model.num_states, model.num_actions, per="duration", **LEARNING)
    assert policies(model, agent, seeds=5, steps=100_000).count(best) >= 4


@pytest.mark.parametrize(
    ("variant", "quantile", "found"), [("gradient", 1.0, 1 / 3), ("published", 0.0, 0.0)]
)
def test_where_the_state_decides(variant: str, quantile: float, found: float) -> None:
    """Of 0 and 1 in turn, the worst three quarters have the mean 1/3; the quantile as published goes to 0, and so does the rate."""
    agent: Any = red_cvar(
        2, 1, level=0.75, variant=variant, step_size=0.1, rate_step_size=0.02, quantile_step_size=0.02
    )
    seen = []
    for step in range(4000):
        state = step % 2
        agent = sj.learn.bare(agent, state, 0, float(state), 1.0, 1 - state, False)
        seen.append((agent.method.quantile, sj.value(agent.rate)))
    assert np.mean(seen[2000:], axis=0) == pytest.approx([quantile, found], abs=0.03)


def test_a_quantile_below_all_rewards() -> None:
    """As published, the quantile begins at 0 and stays there if all rewards are positive; otherwise the first reward begins it."""
    rewards = np.random.default_rng(0).normal(5.0, 1.0, size=3000).tolist()
    found = {}
    for variant in ("gradient", "published"):
        agent: Any = red_cvar(
            1, 1, variant=variant, step_size=0.1, rate_step_size=0.02, quantile_step_size=0.02
        )
        seen = []
        for reward in rewards:
            agent = sj.learn.bare(agent, 0, 0, reward, 1.0, 0, False)
            seen.append((agent.method.quantile, sj.value(agent.rate)))
        found[variant] = np.mean(seen[1000:], axis=0)
    assert found["published"].tolist() == [0.0, 0.0]
    assert found["gradient"] == pytest.approx([5.0 - 0.67449, 5.0 - 1.27111], abs=0.1)


@pytest.mark.parametrize(("begun", "kept"), [(0.0, 0), (5.0, 1)])
def test_it_keeps_what_is_best_at_its_own_quantile(begun: float, kept: int) -> None:
    """0 for sure has the CVaR 0, and 5 or in a tenth of the cases -1 has 2.6; begun at the quantile of either, it keeps either."""
    rows = [(0, 0, 0, 1.0, 0.0, 1.0), (0, 1, 0, 0.9, 5.0, 1.0), (0, 1, 0, 0.1, -1.0, 1.0)]
    model = from_transitions(rows)
    assert [cvar(model, [action], 0.25) for action in (0, 1)] == pytest.approx([0.0, 2.6])
    agent: Any = red_cvar(1, 2, **LEARNING)
    held = agent.method._replace(quantile=begun, lengths=agent.method.lengths._replace(mean=1.0, steps=1.0))
    initial = np.array([[1.0 - kept, float(kept)]])
    agent = agent._replace(method=held, values=agent.values._replace(q=initial))
    assert policies(model, agent, seeds=5, steps=50_000) == [(kept,)] * 5


def test_saved_and_loaded(tmp_path: Path) -> None:
    """A learner goes on from a file as if nothing had happened, compiled or not, in a model with durations."""
    options: dict[str, Any] = {"level": 0.1, "per": "duration", "seed": 3}
    learner = sj.Learner(sj.envs.make("sojourn/ThreeRides-v0", {"compiled": False}), "red-cvar", **options)
    learner.train(300)
    learner.save(tmp_path / "half")
    learner.train(300)
    again = sj.Learner.load(tmp_path / "half", sj.envs.make("sojourn/ThreeRides-v0", {"compiled": False}))
    again.train(300)
    assert (again.agent.q == learner.agent.q).all()
    assert again.agent.method == learner.agent.method
    assert again.rate == learner.rate


def test_the_verdict_knows_what_it_aims_at() -> None:
    """The verdict calls the learned number what it is, and does not count it against the red pill that the blue one earns more."""
    env = sj.envs.make("sojourn/RedPillBluePill-v0", {"compiled": False})
    learner = sj.Learner(env, "red-cvar", step_size=0.1, rate_step_size=0.02, quantile_step_size=0.02, seed=0)
    learner.train(2500)
    verdict = learner.verdict(duration=2500.0)
    assert [verdict.gain, verdict.best_gain] == pytest.approx([-0.7, -0.6])
    assert "learned mean of the worst 25 % of the rewards -0.7" in verdict.sentence
    assert not any("best policy" in warning for warning in verdict.warnings)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"level": 1.0}, "level is 1.0; it must be"),
        ({"per": "time"}, "per is 'time'; it must be 'steps' or 'duration'"),
        ({"variant": "red"}, "variant is 'red'; it must be 'gradient' or 'published'"),
        ({"variant": "published", "per": "duration"}, "which counts steps; leave out per='duration'"),
        ({"quantile_step_size": 0.0}, "quantile_step_size is 0.0"),
    ],
)
def test_what_is_refused(options: dict[str, Any], said: str) -> None:
    """Bad options are refused in a sentence."""
    with pytest.raises(ValueError, match=said):
        red_cvar(1, 1, **options)


@pytest.mark.evidence
def test_many_random_models() -> None:
    """On 100 random models, it loses at most a tenth of the way from the best CVaR to the worst in all but a few."""
    failed = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        rows = [
            (state, action, after, float(chance), sj.laws.Uniform(*sorted(rng.normal(0.0, 2.0, size=2))), 1.0)
            for state in range(3)
            for action in range(2)
            for after, chance in enumerate(rng.dirichlet(np.ones(3)))
        ]
        model = from_transitions(rows)
        truth = all_cvars(model, 0.25)
        agent = red_cvar(3, 2, step_size=sj.rates.Visits(1.0, 0.65, 0.0005))
        (found,) = policies(model, agent, seeds=1, steps=300_000)
        high, low = max(truth.values()), min(truth.values())
        failed += high - truth[found] > 0.1 * (high - low)
    assert failed <= 8
