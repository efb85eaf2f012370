"""Aversion to risk and the worst rewards: against published digits, plain averages, and quantiles of SciPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import brentq

import sojourn as sj
from sojourn.exact import certain_rate, crra, cvar
from sojourn.models import SMDP, from_transitions
from sojourn.models.laws import (
    Exponential,
    FlooredNormal,
    Gamma,
    Lognormal,
    Outcomes,
    TwoPoint,
    Uniform,
    Weibull,
)
from sojourn.models.problems import red_pill_blue_pill, three_rides

RIDES = ([1.0, 15.0, 8.0], [6.0, 11.0, 8.0], [8.0, 8.0, 8.0])


def power_mean(rates: list[float], theta: float) -> float:
    if theta == 1.0:
        return math.prod(rates) ** (1.0 / len(rates))
    return float(np.mean(np.array(rates) ** (1.0 - theta)) ** (1.0 / (1.0 - theta)))


@pytest.mark.parametrize(
    ("theta", "noted", "best"),
    [
        (-1.0, (9.83, 8.58, 8.0), 0),
        (0.0, (8.0, 8.33, 8.0), 1),
        (1.0, (4.93, 8.08, 8.0), 1),
        (2.0, (2.52, 7.84, 8.0), 2),
    ],
)
def test_the_authors_three_rides(theta: float, noted: tuple[float, ...], best: int) -> None:
    """The certain rates of the rides have the authors' digits and are power means, and the solver takes the best ride."""
    model = crra(three_rides(), theta)
    rates = [certain_rate(sj.evaluate(model, [ride, 0]).gain, theta) for ride in range(3)]
    assert rates == pytest.approx([power_mean(ride, theta) for ride in RIDES], rel=1e-12)
    assert [round(rate, 2) for rate in rates] == list(noted)
    assert sj.solve(model).policy.tolist() == [best, 0]


def test_where_the_best_ride_changes() -> None:
    """The wild ride is best below -0.160 and the calm one above 1.336, where power means of the rates cross."""

    def gap(theta: float, place: int) -> float:
        return power_mean(RIDES[place], theta) - power_mean(RIDES[place + 1], theta)

    switches = [brentq(gap, -0.5, 0.5, args=(0,)), brentq(gap, 1.01, 1.9, args=(1,))]
    assert [round(theta, 3) for theta in switches] == [-0.160, 1.336]
    for place, theta in enumerate(switches):
        assert [int(sj.solve(crra(three_rides(), theta + move)).policy[0]) for move in (-1e-6, 1e-6)] == [
            place,
            place + 1,
        ]


def test_it_depends_on_how_time_is_cut() -> None:
    """1 and 9 are a rate of 5 in one step, and a harmonic rate of 1.8 in two; the gain is 5 in both."""
    whole = from_transitions([(0, 0, 0, 1.0, 10.0, 2.0)])
    cut = from_transitions([(0, 0, 1, 1.0, 1.0, 1.0), (1, 0, 0, 1.0, 9.0, 1.0)])
    found = [certain_rate(sj.evaluate(crra(each, 2), [0] * each.num_states).gain, 2) for each in (whole, cut)]
    assert found == pytest.approx([5.0, 1.8], rel=1e-12)
    assert [sj.solve(each).gain for each in (whole, cut)] == pytest.approx([5.0, 5.0], rel=1e-12)


def drawn_steps(rng: Any, states: int) -> list[tuple[Any, ...]]:
    """Rows of one action, each with a law of reward and duration that has at most three outcomes."""
    rows: list[tuple[Any, ...]] = []
    for state in range(states):
        for after, chance in enumerate(rng.dirichlet(np.ones(states))):
            earned, lasting = rng.uniform(0.1, 9.0, size=3), rng.uniform(0.2, 4.0, size=3)
            pay: tuple[Any, ...] = [
                (
                    Outcomes(
                        [
                            (0.2, earned[0], lasting[0]),
                            (0.3, earned[1], lasting[1]),
                            (0.5, earned[2], lasting[2]),
                        ]
                    ),
                ),
                (TwoPoint(earned[0], earned[1], 0.3), TwoPoint(lasting[0], lasting[1], 0.6)),
                (float(earned[0]), float(lasting[0])),
            ][rng.integers(3)]
            rows.append((state, 0, after, float(chance), *pay))
    return rows


def outcomes_of(pay: tuple[Any, ...]) -> list[tuple[float, float, float]]:
    if isinstance(pay[0], Outcomes):
        return list(pay[0].outcomes)
    ends = [
        [(1.0 - law.probability, law.low), (law.probability, law.high)]
        if isinstance(law, TwoPoint)
        else [(1.0, law)]
        for law in pay
    ]
    return [(p * q, r, d) for p, r in ends[0] for q, d in ends[1]]


@pytest.mark.parametrize("seed", range(40))
def test_random_models_against_plain_averages(seed: int) -> None:
    """Certain rates and CVaR are averages over all outcomes, with the stationary law from powers of the matrix."""
    rng = np.random.default_rng(seed)
    states, theta, level = (
        int(rng.integers(1, 5)),
        float(rng.choice([-2.0, 0.5, 1.0, 3.0])),
        rng.uniform(0.02, 0.98),
    )
    rows = drawn_steps(rng, states)
    matrix = np.zeros((states, states))
    for row in rows:
        matrix[row[0], row[2]] += row[3]
    law = np.linalg.matrix_power(matrix, 4096)[0]
    parts = [(law[row[0]] * row[3] * p, r, d) for row in rows for p, r, d in outcomes_of(row[4:])]
    weight, earned, lasting = np.array(parts).T
    model = from_transitions(rows)
    shares = weight * lasting / (weight @ lasting)
    rates = earned / lasting
    wanted = (
        math.exp(shares @ np.log(rates))
        if theta == 1.0
        else (shares @ rates ** (1 - theta)) ** (1 / (1 - theta))
    )
    policy = [0] * states
    assert certain_rate(sj.evaluate(crra(model, theta), policy).gain, theta) == pytest.approx(
        wanted, rel=1e-9
    )
    order = np.argsort(earned)
    before = np.concatenate([[0.0], np.cumsum(weight[order])[:-1]])
    worst = np.clip(level - before, 0.0, weight[order])
    assert cvar(model, policy, level) == pytest.approx(worst @ earned[order] / level, rel=1e-9)


@pytest.mark.parametrize(
    ("law", "same"),
    [
        (Exponential(2.0), stats.expon(scale=2.0)),
        (Gamma(0.6, 3.0), stats.gamma(0.6, scale=3.0)),
        (Weibull(1.7, 2.0), stats.weibull_min(1.7, scale=2.0)),
        (Lognormal(2.0, 0.8), stats.lognorm(0.8, scale=2.0)),
        (Uniform(-3.0, 5.0), stats.uniform(-3.0, 8.0)),
        (FlooredNormal(1.0, 2.0, -99.0), stats.norm(1.0, 2.0)),
    ],
)
@pytest.mark.parametrize("level", [0.001, 0.25, 0.9])
def test_every_law_against_quantiles_of_scipy(law: Any, same: Any, level: float) -> None:
    """The mean of the worst rewards is the mean of the quantiles below the level; for costs, of mirrored ones."""
    wanted = quad(same.ppf, 0.0, level, epsabs=0.0, epsrel=1e-10, limit=500)[0] / level
    assert cvar(from_transitions([(0, 0, 0, 1.0, law, 1.0)]), [0], level) == pytest.approx(wanted, rel=1e-6)
    if not isinstance(law, Uniform | FlooredNormal):
        first, *rest = law
        cost = type(law)(first, -rest[0]) if isinstance(law, Gamma | Weibull) else type(law)(-first, *rest)
        wanted = -quad(same.isf, 0.0, level, epsabs=0.0, epsrel=1e-10, limit=500)[0] / level
        assert cvar(from_transitions([(0, 0, 0, 1.0, cost, 1.0)]), [0], level) == pytest.approx(
            wanted, rel=1e-6
        )


def test_floors_and_mixtures() -> None:
    """A floor holds many steps at once, and laws of several rows are mixed before the worst are taken."""
    floored = from_transitions([(0, 0, 0, 1.0, FlooredNormal(0.0, 1.0, 0.0), 1.0)])
    assert cvar(floored, [0], 0.4) == pytest.approx(0.0, abs=1e-12)
    assert cvar(floored, [0], 0.75) == pytest.approx(quad(stats.norm.ppf, 0.5, 0.75)[0] / 0.75, rel=1e-9)
    mixed = from_transitions(
        [(0, 0, 0, 0.3, Exponential(-5.0), 1.0), (0, 0, 0, 0.7, Uniform(-4.0, 4.0), 2.0)]
    )

    def share(q: float) -> float:
        return float(0.3 * stats.expon(scale=5.0).sf(-q) + 0.7 * stats.uniform(-4.0, 8.0).cdf(q))

    at = brentq(lambda q: share(q) - 0.2, -60.0, 4.0, xtol=1e-13)
    wanted = at - quad(share, -200.0, at, limit=500, points=(-4.0,))[0] / 0.2
    assert cvar(mixed, [0], 0.2) == pytest.approx(wanted, rel=1e-7)


def test_red_pill_blue_pill() -> None:
    """The pills have the published means and CVaR, and a policy that takes both with equal chance lies between."""
    model = red_pill_blue_pill()
    pills = [[0, 0], [1, 1]]
    assert [round(sj.evaluate(model, pill).gain, 5) for pill in pills] == [-0.7, -0.6]
    assert [round(cvar(model, pill, 0.25), 5) for pill in pills] == [-0.76356, -1.03989]
    assert sj.solve(model).policy.tolist() == [1, 1]
    # Both in turn: three quarters of the steps are above -0.85, and the worst quarter is around -1.
    assert cvar(model, np.full((2, 2), 0.5), 0.25) == pytest.approx(-1.0, abs=1e-3)


@pytest.mark.parametrize(
    ("rows", "theta", "said"),
    [
        (
            [(0, 0, 0, 1.0, -1.0, 1.0)],
            2.0,
            "earns -1 in a time of 1; with theta 2 all rates must be finite and above 0",
        ),
        ([(0, 0, 0, 1.0, 0.0, 1.0)], 1.0, "above 0"),
        ([(0, 0, 0, 1.0, Exponential(1.0), 1.0)], 0.5, "this takes constants, TwoPoint and Outcomes"),
        (
            [(0, 0, 1, 1.0, 3.0, 0.0), (1, 0, 0, 1.0, 1.0, 1.0)],
            0.5,
            "state 0, action 0: a step earns 3 in a time of 0",
        ),
        ([(0, 0, 0, 1.0, 1e-300, 1.0)], 9.0, "too large for floats"),
    ],
)
def test_what_has_no_utility_is_refused(rows: list[Any], theta: float, said: str) -> None:
    """Rates below 0, rewards in no time and smooth laws are refused, and the sentence says where."""
    with pytest.raises(ValueError, match=said):
        crra(from_transitions(rows), theta)


def test_timeless_steps_and_units() -> None:
    """A step that earns nothing in no time changes nothing, and certain rates have the unit of the rates."""
    rows = [(0, 0, 1, 1.0, 3.0, 1.0), (1, 0, 0, 1.0, 4.0, 2.0)]
    plain = from_transitions(rows)
    paused = from_transitions([rows[0], (1, 0, 2, 1.0, 4.0, 2.0), (2, 0, 0, 1.0, 0.0, 0.0)])
    large = from_transitions([(*row[:4], 1e6 * row[4], row[5]) for row in rows])

    def rate(model: SMDP) -> float:
        return certain_rate(sj.evaluate(crra(model, 3), [0] * model.num_states).gain, 3)

    assert rate(paused) == pytest.approx(rate(plain), rel=1e-12)
    assert rate(large) == pytest.approx(1e6 * rate(plain), rel=1e-12)


def test_without_aversion_it_is_the_gain() -> None:
    """With theta 0 the certain rate is the gain, for costs and timeless rewards too; just beside 1 it is as at 1."""
    model = from_transitions([(0, 0, 1, 1.0, -3.0, 0.0), (1, 0, 0, 1.0, 1.0, 4.0)])
    assert (
        certain_rate(sj.evaluate(crra(model, 0), [0, 0]).gain, 0) == sj.evaluate(model, [0, 0]).gain == -0.5
    )
    beside = [certain_rate(sj.evaluate(crra(three_rides(), t), [0, 0]).gain, t) for t in (1.0, 1.0 + 1e-7)]
    assert beside[1] == pytest.approx(beside[0], rel=1e-6)


def test_gains_that_no_rate_has() -> None:
    """A negative mean of a positive power is refused."""
    with pytest.raises(ValueError, match="no rate has this utility if theta is 2"):
        certain_rate(1.0, 2)
