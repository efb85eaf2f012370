"""Worlds that change, and the truth that they record."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

import naive
import sojourn as sj
from sojourn.models import SMDP, from_transitions
from sojourn.models.modulated import transform

laws = sj.laws

# Cycles through two states. In the first regime action 0 earns 5 in 2 + 1 and action 1 earns 8 in 4 + 1. In the second
# action 0 earns 1 in 2 + 1; action 1 earns 8 in 2 + 1 or, as often, nothing in 1.
ONE = from_transitions([
    (0, 0, 1, 1.0, laws.Exponential(5.0), laws.Uniform(1.0, 3.0)),
    (0, 1, 1, 1.0, 8.0, laws.Exponential(4.0)),
    (1, 0, 0, 1.0, 0.0, 1.0),
])  # fmt: skip
TWO = from_transitions([
    (0, 0, 1, 1.0, 1.0, laws.Uniform(1.0, 3.0)),
    (0, 1, 1, 0.5, 8.0, laws.Exponential(2.0)),
    (0, 1, 0, 0.5, 0.0, 1.0),
    (1, 0, 0, 1.0, 0.0, 1.0),
])  # fmt: skip
GAINS = [5 / 3, 4 / 2]
TIMES: dict[str, Any] = {"fixed": 40.0, "drawn": laws.Exponential(40.0), "given": [30.0, 75.0, 200.0]}


def drawn_path(key: int, mean: float, until: float) -> list[tuple[float, int]]:
    """When each of two alternating regimes begins, from SplitMix64 alone."""
    path, clock = [], 0.0
    for place in itertools.count():
        path.append((clock, place % 2))
        clock -= mean * math.log(naive.unit(naive.splitmix(key, 2 * place)))
        if clock > until:
            return path
    raise AssertionError


def path_of(kind: str, key: int, until: float) -> list[tuple[float, int]]:
    if kind == "drawn":
        return drawn_path(key, 40.0, until)
    if kind == "fixed":
        return [(40.0 * k, k % 2) for k in range(int(until / 40.0) + 1)]
    return [(0.0, 0), (30.0, 1), (75.0, 0), (200.0, 1)]


def fresh() -> Any:
    """An agent without the missing action of the second state."""
    agent = sj.smart(2, 2, exploration=0.2)
    return agent._replace(values=sj.agents.Table(sj.worlds.initial_values(ONE)))


def by_hand(kind: str, steps: int, episodes: int, seed: int) -> tuple[float, float]:
    """Dynamic regret and tracking error of a run, computed step by step with an independent truth."""
    world_rng, agent_rng = sj.random.streams(seed, 2)
    world, agent = sj.worlds.Switching([ONE, TWO], TIMES[kind]), fresh()
    owed: list[float] = []
    rewards: list[float] = []
    errors: list[tuple[float, float]] = []
    for _ in range(episodes):
        world, state = sj.start(world, world_rng)
        path, clock = path_of(kind, world.noise_key, 1e5), 0.0
        for _ in range(steps):
            rho = GAINS[max((begin, regime) for begin, regime in path if begin <= clock)[1]]
            action, explored = sj.draw(agent, state, agent_rng)
            believed = sj.value(agent.rate)
            world, after, reward, duration = sj.step(world, state, action, world_rng)
            agent = sj.learn(agent, state, action, reward, duration, after, explored=explored)
            owed.append(rho * duration)
            rewards.append(reward)
            errors.append((duration, duration * (believed - rho) ** 2))
            clock, state = clock + duration, after
    times, squares = zip(*errors[100:], strict=True)
    return math.fsum(owed) - math.fsum(rewards), math.fsum(squares) / math.fsum(times)


@pytest.mark.parametrize("kind", TIMES)
def test_dynamic_regret_and_tracking_error_are_independent_sums(kind: str) -> None:
    """A compiled run agrees to 1e-9 with a Python loop that has its own clock, regimes and gains."""
    run = sj.run(sj.worlds.Switching([ONE, TWO], TIMES[kind]), fresh(), steps=150, episodes=2, seed=7)
    regret, error = by_hand(kind, steps=150, episodes=2, seed=7)
    assert run.dynamic_regret == pytest.approx(regret, abs=1e-9)
    assert run.tracking_error == pytest.approx(error, rel=1e-9)
    many = sj.run_many(
        sj.worlds.Switching([ONE, TWO], TIMES[kind]), {"a": fresh()}, steps=150, episodes=2, seeds=[7]
    )
    assert many["dynamic_regret"].tolist() == [run.dynamic_regret]
    assert many["tracking_error"].tolist() == [run.tracking_error]


def test_compiled_is_interpreted_and_restored() -> None:
    """Worlds of all three kinds, and disturbed ones, pass the checker and survive pickling."""
    for times in TIMES.values():
        world = sj.worlds.Switching([ONE, TWO], times)
        sj.check_world(world)
    sj.check_world(sj.worlds.Disturbed(world, tail=2.1, wrong_rewards=0.1, wrong_durations=0.1))
    assert sj.gain(pickle.loads(pickle.dumps(world)), 80.0) == pytest.approx(GAINS[0])


def pays(*amounts: float, duration: float = 1.0) -> list[SMDP]:
    """Models of one state and one action that pay these amounts."""
    return [from_transitions([(0, 0, 0, 1.0, amount, duration)]) for amount in amounts]


def rewards_of(world: Any, steps: int, seed: int = 0) -> list[float]:
    rng = sj.stream(seed)
    world, state = sj.start(world, rng)
    found = []
    for _ in range(steps):
        world, state, reward, _ = sj.step(world, state, 0, rng)
        found.append(float(reward))
    return found


@pytest.mark.filterwarnings("ignore:a regime holds")
def test_a_step_keeps_the_law_of_its_beginning() -> None:
    """Steps of 2 in regimes of 3 begin at 0, 2 | 4 | 6, 8 | 10, and the list begins again after its last."""
    assert rewards_of(sj.worlds.Switching(pays(1.0, 5.0, duration=2.0), 3.0), 6) == [1, 1, 5, 1, 1, 5]
    assert rewards_of(sj.worlds.Switching(pays(1.0, 5.0, 7.0), [2.0, 3.0, 4.0]), 6) == [1, 1, 5, 7, 1, 1]
    assert rewards_of(sj.worlds.Switching(pays(1.0, 5.0, duration=10.0), 3.0), 4) == [
        1,
        5,
        1,
        1,
    ]  # after 0, 3, 6, 10 changes


def test_drawn_times_have_their_law_and_any_other_regime_follows() -> None:
    """Regimes last exponential times of the given mean, the two others follow equally often, and only the seed matters."""
    world = sj.worlds.Switching(pays(0.0, 1.0, 2.0, duration=0.05), laws.Exponential(5.0))
    path = [int(regime) for regime in rewards_of(world, 15_000, seed=3)]
    started, _ = sj.start(world, sj.stream(3))
    gains = [sj.gain(started, 0.05 * k + 0.01) or 0.0 for k in (0, 50, 200, 900)]
    assert [round(gain * 0.05) for gain in gains] == [path[k] for k in (0, 50, 200, 900)]
    runs = [(regime, len(list(steps)) * 0.05) for regime, steps in itertools.groupby(path)]
    lengths = np.array([length for _, length in runs])
    assert stats.kstest(lengths, stats.expon(scale=5.0).cdf).pvalue > 0.01
    follows = [(one, after) for (one, _), (after, _) in itertools.pairwise(runs)]
    ups = sum((after - one) % 3 == 1 for one, after in follows)
    assert stats.binomtest(ups, len(follows)).pvalue > 0.01
    with pytest.raises(ValueError, match="drawn when it starts"):
        sj.gain(sj.worlds.Switching(pays(0.0, 1.0), laws.Exponential(5.0)), 1.0)


def test_a_path_is_followed_step_by_step() -> None:
    """`Drifting` uses the model of each time until the next, and the last one for ever; a policy has its own gain."""

    def at(time: float) -> SMDP:
        return from_transitions([(0, 0, 0, 1.0, time, 1.0), (0, 1, 0, 1.0, 1.0, 0.4)])

    best, first = sj.worlds.Drifting(at, [0.0, 5.0, 9.0]), sj.worlds.Drifting(at, [0.0, 5.0, 9.0], policy=[0])
    clocks = [0.0, 4.9, 5.0, 9.0, 1e6]
    assert [sj.gain(best, clock) for clock in clocks] == [2.5, 2.5, 5.0, 9.0, 9.0]
    assert [sj.gain(first, clock) for clock in clocks] == [0.0, 0.0, 5.0, 9.0, 9.0]
    run = sj.run(first, sj.agents.policy_agent([0], 2, rate=sj.rates.Fixed(1.0)), steps=200, compiled=False)
    assert run.dynamic_regret == 0.0
    assert run.tracking_error == 64.0  # steps 100 to 199, with a gain of 9


@pytest.mark.parametrize(
    "law",
    [
        laws.Constant(1.5),
        laws.Exponential(2.0),
        laws.Gamma(2.5, 0.7),
        laws.Uniform(0.5, 3.0),
        laws.TwoPoint(1.0, 4.0, 0.3),
        laws.FlooredNormal(1.0, 0.8, 0.4),
        laws.Weibull(0.6, 3.0),
        laws.Lognormal(2.0, 0.7),
    ],
)
def test_transforms_by_integration(law: Any) -> None:
    """E[e^(-s x)] of each law equals the integral over its quantiles."""
    quantile: Callable[[float], float] = {
        laws.Constant: lambda u: law.value,
        laws.Exponential: lambda u: -law.mean * math.log1p(-u),
        laws.Gamma: lambda u: float(stats.gamma.ppf(u, law.shape, scale=law.scale)),
        laws.Uniform: lambda u: law.low + (law.high - law.low) * u,
        laws.TwoPoint: lambda u: law.low if u < 1 - law.probability else law.high,
        laws.Weibull: lambda u: law.scale * (-math.log1p(-u)) ** (1.0 / law.shape),
        laws.Lognormal: lambda u: float(stats.lognorm.ppf(u, law.sigma, scale=law.median)),
        laws.FlooredNormal: lambda u: max(law.floor, float(stats.norm.ppf(u, law.location, law.scale))),
    }[type(law)]
    for speed in (0.1, 2.0):
        wanted, _ = integrate.quad(
            lambda u, s=speed: math.exp(-s * quantile(u)),
            0,
            1,
            points=[0.7, stats.norm.cdf(-0.75)],
            limit=200,
        )
        assert transform(law, speed) == pytest.approx(wanted, abs=1e-7)


def test_the_product_model_by_hand_and_by_simulation() -> None:
    """Regimes that last as long as a step: the product's gain is that of the chain by hand, and what a run earns."""
    models = [
        from_transitions([(0, 0, 0, 1.0, pay, laws.Exponential(mean))])
        for pay, mean in ((6.0, 1.0), (2.0, 3.0))
    ]
    product = sj.models.modulated(models, mean=2.0)
    # A regime is another one at the end of a step of mean d with probability (1 - 1/(1 + d)) / 2: 1/4 and 3/8.
    shares = [3 / 8, 1 / 4]
    wanted = (6 * shares[0] + 2 * shares[1]) / (1 * shares[0] + 3 * shares[1])
    assert sj.solve(product).gain == pytest.approx(wanted, rel=1e-12)
    with pytest.warns(RuntimeWarning, match="does not bound what can be earned"):
        world = sj.worlds.Switching(models, laws.Exponential(2.0))
    run = sj.run(world, sj.agents.policy_agent([0], 1), steps=200_000, seed=1)
    assert run.reward / run.duration == pytest.approx(wanted, rel=0.01)
    assert (
        abs(sum(pay / mean for pay, mean in ((6, 1), (2, 3))) / 2 - wanted) > 0.1 * wanted
    )  # which is not the mean of the gains


def test_wrong_records_leave_the_truth_alone() -> None:
    """Regret and times ignore recording errors, while totals include them; heavy tails count as earned."""
    world, agent = sj.worlds.Switching(pays(1.0, 5.0), 10.0), sj.agents.policy_agent([0], 1)
    plain = sj.run(world, agent, steps=400, compiled=False)
    wrong = sj.worlds.Disturbed(
        world, wrong_rewards=0.1, reward_factor=50.0, wrong_durations=0.2, duration_factor=0.01
    )
    run = sj.run(wrong, agent, steps=400, compiled=False)
    assert run.truth is not None
    assert plain.truth is not None
    assert (run.truth.owed, run.truth.earned, run.truth.clock) == (
        plain.truth.owed,
        plain.truth.earned,
        400.0,
    )
    assert run.reward > 2.0 * plain.reward
    assert run.duration < 0.9 * plain.duration
    tailed = sj.run(sj.worlds.Disturbed(world, tail=3.0), agent, steps=400, compiled=False)
    assert tailed.truth is not None
    assert tailed.truth.earned == pytest.approx(tailed.reward, rel=1e-12)
    assert tailed.reward != plain.reward


def test_tails_are_paretos_of_mean_one() -> None:
    """The factor of a reward of 1 is a Pareto number: of index 3 above 2/3, with mean 1."""
    factors = np.array(rewards_of(sj.worlds.Disturbed(sj.worlds.Tabular(pays(1.0)[0]), tail=3.0), 5_000))
    assert stats.kstest(factors, stats.pareto(3.0, scale=2 / 3).cdf).pvalue > 0.01
    assert factors.mean() == pytest.approx(1.0, abs=0.05)


def test_a_world_without_a_truth_says_so() -> None:
    """A world whose gain at each time is unknown has no dynamic regret, and tables have no such column."""
    for world in (sj.worlds.TwoState(1e-3), sj.worlds.Disturbed(sj.worlds.TwoState(1e-3), wrong_rewards=0.1)):
        run = sj.run(world, sj.smart(2, 2), steps=10, compiled=False)
        with pytest.raises(ValueError, match="this world does not know its gain at every time"):
            _ = run.dynamic_regret
        assert sj.gain(world, 0.0) is None


WRONG: list[Any] = ["a model"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sj.worlds.Switching([], 5.0), "regimes is empty"),
        (lambda: sj.worlds.Switching(WRONG, 5.0), "regime 0 is 'a model'; it must be an SMDP"),
        (
            lambda: sj.worlds.Switching([ONE, *pays(1.0)], 5.0),
            "regime 1 has other states or actions than regime 0",
        ),
        (lambda: sj.worlds.Switching([ONE, TWO], 0.0), "times is 0.0"),
        (
            lambda: sj.worlds.Switching([ONE, TWO], [50.0, 50.0]),
            "times must be finite, above 0 and ascending",
        ),
        (lambda: sj.worlds.Switching([ONE, TWO], [0.0, 50.0]), "times must be finite, above 0 and ascending"),
        (lambda: sj.worlds.Switching([ONE, TWO], laws.Exponential(-5.0)), "times.mean is -5.0"),
        (lambda: sj.worlds.Drifting(lambda t: ONE, [1.0, 2.0]), "times must begin with 0.0"),
        (
            lambda: sj.worlds.Disturbed(sj.worlds.Tabular(ONE), tail=1.0),
            "Disturbed.tail is 1.0; it must be above 1",
        ),
        (lambda: sj.models.modulated([ONE, *pays(1.0)], 5.0), "regime 1 has 1 states and regime 0 has 2"),
    ],
)
def test_wrong_input_gets_one_sentence(call: Callable[[], Any], message: str) -> None:
    """The error names what is wrong, and where."""
    with pytest.raises((ValueError, TypeError), match=message):
        call()


@pytest.mark.parametrize("times", [11.9, [30.0, 41.0], laws.Exponential(11.0)])
def test_short_regimes_get_a_warning(times: float | Sequence[float] | Any) -> None:
    """With a longest mean duration of 4, a regime shorter than 12 causes a warning; one of 12 does not."""
    with pytest.warns(RuntimeWarning, match="less than three times the longest mean duration, 4"):
        sj.worlds.Switching([ONE, TWO], times)
    sj.worlds.Switching([ONE, TWO], 12.0)
