"""Power means of rates: against an oracle, against the means they contain, and their limits against integrals."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import naive
import sojourn as sj
from sojourn.exact import certain_rate, crra
from sojourn.models import SMDP, from_transitions
from sojourn.models.laws import Exponential, Gamma, Lognormal, Outcomes, TwoPoint, Uniform, Weibull
from sojourn.rates import PowerMean, Scheduled, Visits
from sojourn.rates.catalogue import named_rate

WEIGHTS = ("unit", "reward", "duration")
EXPONENTS = (-2.5, -1.0, 0.0, 0.5, 1.0, 3.0)


def stream(seed: int, count: int = 60) -> list[tuple[float, float]]:
    rng = np.random.default_rng(seed)
    sizes, signs = 10.0 ** rng.uniform(-2, 2, size=count), rng.choice([-1.0, 0.0, 1.0, 1.0], size=count)
    return list(zip((sizes * signs).tolist(), rng.uniform(0.02, 5.0, size=count).tolist(), strict=True))


def fed(rate: Any, steps: list[tuple[float, float]]) -> list[float]:
    found = []
    for reward, duration in steps:
        rate = sj.update.bare(rate, reward, duration)
        found.append(sj.value.bare(rate))
    return found


@pytest.mark.parametrize(("exponent", "weight"), list(itertools.product(EXPONENTS, WEIGHTS)))
def test_after_every_prefix(exponent: float, weight: str) -> None:
    """It is the power mean of all rates so far by the weights that are left of them, for any signs."""
    for seed in range(2):
        oracle, wanted = naive.PowerMean(0.1, exponent, weight), []
        for reward, duration in stream(seed):
            oracle.update(reward, duration)
            wanted.append(oracle.value())
        assert fed(PowerMean(0.1, exponent, weight), stream(seed)) == pytest.approx(
            wanted, rel=1e-10, abs=1e-10
        )


@pytest.mark.parametrize(
    ("exponent", "weight", "same"),
    [
        (-1.0, "unit", sj.Harmonic(0.1)),
        (-1.0, "reward", sj.rates.WeightedHarmonic(0.1)),
        (1.0, "duration", sj.Exponential(0.1)),
    ],
)
def test_means_that_have_names(exponent: float, weight: str, same: Any) -> None:
    """The harmonic mean, the one weighted by reward, and the ratio of means are power means, with the same limits."""
    found, wanted = fed(PowerMean(0.1, exponent, weight), stream(3)), fed(same, stream(3))
    assert found == pytest.approx(wanted, rel=1e-12, abs=1e-12)
    model = random_model(5)
    power, usual = sj.audit(model, estimators={"power": PowerMean(0.1, exponent, weight), "usual": same})
    assert power.rate == pytest.approx(usual.rate, rel=1e-12)


def test_of_all_steps_so_far() -> None:
    """With the step size 1/n, exponent 1 and unit weights are the mean of all rates, and 0 is the geometric mean."""
    steps = [(abs(reward) + 0.1, duration) for reward, duration in stream(4)]
    rates = [reward / duration for reward, duration in steps]
    plain = Visits(1.0, 1.0)
    assert fed(Scheduled(PowerMean(1.0, 1.0), plain), steps)[-1] == pytest.approx(np.mean(rates), rel=1e-12)
    assert fed(Scheduled(PowerMean(1.0), plain), steps)[-1] == pytest.approx(stats.gmean(rates), rel=1e-12)


@pytest.mark.parametrize(("exponent", "weight"), [(2.0, "duration"), (-0.5, "reward"), (0.0, "unit")])
def test_the_laws_of_averaging(exponent: float, weight: str) -> None:
    """Compiled and interpreted are the same, constants are right at once, and all scales with rewards and with time."""
    assert sj.runs.check_rate(PowerMean(0.1, exponent, weight)) == (True, True, True, True)


def random_model(seed: int) -> SMDP:
    """A model of one action whose rewards are positive and have laws with any power."""
    rng = np.random.default_rng(seed)
    rows: list[tuple[Any, ...]] = []
    for state in range(3):
        chances = rng.dirichlet(np.ones(3))
        for after, chance in enumerate(chances):
            low, high = sorted(rng.uniform(0.5, 6.0, size=2).tolist())
            pay = [Lognormal(low, 0.5), Uniform(low, high), Gamma(9.0, low / 9.0), TwoPoint(low, high, 0.3)][
                rng.integers(4)
            ]
            rows.append((state, 0, after, float(chance), pay, Uniform(low, 2.0 * high)))
    return from_transitions(rows)


def test_which_of_them_is_the_gain() -> None:
    """By duration the limits grow with the exponent and reach the gain at 1, by reward at -1; unit weights pass it in between."""
    for seed in range(5):
        model = random_model(seed)
        gain = sj.evaluate(model, [0, 0, 0]).gain
        for weight, right in (("duration", 1.0), ("reward", -1.0)):
            rates: list[Any] = [
                one.rate
                for one in sj.audit(model, estimators={str(p): PowerMean(0.1, p, weight) for p in EXPONENTS})
            ]
            assert rates == sorted(rates)
            assert rates[EXPONENTS.index(right)] == pytest.approx(gain, rel=1e-10)


def test_limits_are_integrals() -> None:
    """Where reward and duration have a law each, the limit is made of four moments, which SciPy integrates."""
    pay, time = stats.gamma(3.5, scale=2.0), stats.weibull_min(2.5, scale=3.0)
    model = from_transitions([(0, 0, 0, 1.0, Gamma(3.5, 2.0), Weibull(2.5, 3.0))])
    for p, (weight, a, b) in itertools.product(
        (-1.5, 0.0, 0.5, 2.0), (("unit", 0, 0), ("reward", 1, 0), ("duration", 0, 1))
    ):
        if p == 0.0:
            logs = pay.expect(lambda r: r**a * np.log(r)) / pay.expect(lambda r: r**a)  # noqa: B023
            logs -= time.expect(lambda t: t**b * np.log(t)) / time.expect(lambda t: t**b)  # noqa: B023
            wanted = math.exp(logs)
        else:
            mean = pay.expect(lambda r: r ** (a + p)) * time.expect(lambda t: t ** (b - p))  # noqa: B023
            wanted = (mean / (pay.expect(lambda r: r**a) * time.expect(lambda t: t**b))) ** (1.0 / p)  # noqa: B023
        (found,) = sj.audit(model, estimators=[PowerMean(0.1, p, weight)])
        assert found.rate == pytest.approx(wanted, rel=1e-6)


def test_limits_of_rates_of_both_signs() -> None:
    """With gains, losses and nothing at all, the limit of each exponent and weight is that of the listed outcomes."""
    law = [(4.0, 0.5, 0.2), (1.5, 3.0, 0.3), (-2.0, 1.0, 0.15), (-0.3, 2.5, 0.25), (0.0, 4.0, 0.1)]
    model = from_transitions([(0, 0, 0, 1.0, Outcomes([(p, r, tau) for r, tau, p in law]))])
    for exponent, weight in itertools.product(EXPONENTS, WEIGHTS):
        (found,) = sj.audit(model, estimators=[PowerMean(0.1, exponent, weight)])
        assert found.rate == pytest.approx(naive.power_mean(law, exponent, weight), rel=1e-12)


def test_limits_that_do_not_exist() -> None:
    """Rates in exponential times have infinite powers; of exponential rewards the powers below 0 pull all means to 0."""
    quick = from_transitions([(0, 0, 0, 1.0, 2.0, Exponential(1.0))])
    small = from_transitions([(0, 0, 0, 1.0, Exponential(1.0), 1.0)])
    limits = [
        sj.audit(model, estimators=[PowerMean(0.1, p)])["PowerMean"].rate
        for model, p in ((quick, 1.0), (quick, 0.5), (small, -1.0))
    ]
    assert limits == [math.inf, pytest.approx(2.0 * math.gamma(0.5) ** 2), 0.0]


@pytest.mark.parametrize("theta", [-1.0, 0.0, 1.0, 2.0])
def test_certain_rates(theta: float) -> None:
    """By duration, and with the exponent 1 - theta, the limit is the certain rate of constant relative risk aversion."""
    rides = sj.problems.three_rides()
    averse = crra(rides, theta)
    for ride in range(3):
        (found,) = sj.audit(rides, [ride, 0], [PowerMean(0.1, 1.0 - theta, "duration")])
        assert found.rate == pytest.approx(
            certain_rate(sj.evaluate(averse, [ride, 0]).gain, theta), rel=1e-12
        )


def test_runs_come_to_the_limits() -> None:
    """Means over 200,000 steps of rates of both signs end at the limits of the audit."""
    rows = [
        (0, 0, 0, 0.5, Uniform(1.0, 9.0), Gamma(9.0, 0.25)),
        (0, 0, 0, 0.3, -2.0, Uniform(1.0, 3.0)),
        (0, 0, 0, 0.2, 0.0, 1.0),
    ]
    model = from_transitions(rows)
    for exponent, weight in ((2.0, "unit"), (-0.5, "reward"), (0.0, "duration")):
        rate = PowerMean(0.0002, exponent, weight)
        agent = sj.agents.policy_agent([0], 1, rate=rate)
        run = sj.run(sj.worlds.Tabular(model), agent, 200_000, seed=1)
        assert run.rate == pytest.approx(sj.audit(model, [0], [rate])["PowerMean"].rate, rel=0.03)


def test_by_name_and_in_files(tmp_path: Path) -> None:
    """A sweep names it with its exponent and weight, and a saved learner keeps it."""
    rate = named_rate({"kind": "power-mean", "exponent": 2, "weight": "duration"})
    assert rate == PowerMean(0.01, 2.0, "duration")
    env = sj.envs.make("sojourn/ThreeRides-v0", {"compiled": False})
    learner = sj.Learner(env, sj.smart, rate=rate)
    learner.train(50)
    learner.save(tmp_path / "rides")
    assert sj.Learner.load(tmp_path / "rides", env).agent.rate == learner.agent.rate


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((0.1, 21.0), "exponent is 21.0; it must be from -20 to 20"),
        ((0.1, 1.0, "time"), "weight is 'time'; it must be one of 'unit', 'reward', 'duration'"),
        ((0.1, 1.0, 3), "weight is 3; it must be one of"),
    ],
)
def test_what_is_refused(given: tuple[Any, ...], said: str) -> None:
    """Bad exponents and weights are refused in a sentence."""
    with pytest.raises(ValueError, match=said):
        PowerMean(*given)
