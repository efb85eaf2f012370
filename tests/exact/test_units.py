"""Money and time have no natural unit: in other units every exact answer is the same, in those units."""

from __future__ import annotations

import functools
import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import naive_audit
import sojourn as sj
from sojourn.exact.solve import solve_ratio
from sojourn.models import SMDP, from_transitions
from sojourn.models.laws import TwoPoint
from strategies import fraction_models, model_of_fractions

SOLVERS: dict[str, Any] = {
    "solve": sj.solve,
    "policy iteration": sj.exact.policy_iteration,
    "value iteration": sj.exact.value_iteration,
    "modified policy iteration": sj.exact.modified_policy_iteration,
    "linear program": sj.exact.linear_program,
}
BINARY = [(2.0**-40, 1.0), (1.0, 2.0**40), (2.0**39, 2.0**-38), (2.0**-31, 2.0**-40)]
OTHERS = [(1e-8, 1.0), (1e-9, 1.0), (1.0, 1e8), (1e-12, 1e12), (1e12, 1e-12), (1e12, 1e12), (1.0, 1e-12)]
FEW = [BINARY[2], OTHERS[0], OTHERS[3]]  # for models that take long
powers = st.integers(-40, 40).map(lambda power: 2.0**power)
units = st.floats(-12.0, 12.0).map(lambda power: 10.0**power)


def in_units(model: SMDP, money: float, time: float) -> SMDP:
    """Return a model in which a unit of money is `money` new ones and a unit of time is `time` new ones."""
    return model.with_means(model.reward * money, model.duration * time)


def sparse_model(num_states: int) -> SMDP:
    """Return a random model of 3 actions and 4 successors with durations from 0.5 to 1.5."""
    rng, pairs = np.random.default_rng(num_states), 3 * num_states
    weights = rng.random((pairs, 4))
    return SMDP(
        pair_offsets=np.arange(num_states + 1) * 3,
        row_offsets=np.arange(pairs + 1) * 4,
        successor=rng.integers(0, num_states, 4 * pairs),
        probability=(weights / weights.sum(axis=1, keepdims=True)).ravel(),
        reward=rng.normal(size=pairs),
        duration=rng.random(pairs) + 0.5,
    )


MODELS = {
    **{f"{count} states": sparse_model(count) for count in (20, 100, 400, 2000)},
    "islands": from_transitions([(0, 0, 0, 1.0, 1.0, 2.0), (1, 0, 1, 1.0, 3.0, 4.0), (1, 1, 0, 1.0, 0.0, 1.0)]),
    "no time": from_transitions([(0, 0, 1, 1.0, 3.0, 0.0), (1, 0, 0, 1.0, 1.0, 2.0), (1, 1, 0, 1.0, 0.5, 0.5)]),
}  # fmt: skip


@pytest.mark.parametrize("units", [FEW, pytest.param(BINARY + OTHERS, marks=pytest.mark.evidence)])
@pytest.mark.parametrize(
    "name", [name for name in SOLVERS if name != "linear program"]
)  # which would take long
def test_a_large_solution_in_other_units(name: str, units: list[tuple[float, float]]) -> None:
    """So it is with 2,000 states."""
    check_solution("2000 states", name, units)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *itertools.product([kind for kind in MODELS if kind not in ("islands", "2000 states")], SOLVERS),
        ("islands", "solve"),  # its gain depends on the start
    ],
)
def test_a_solution_in_other_units(kind: str, name: str) -> None:
    """Every solver finds the same policy and the same relative bounds; for powers of two, bit for bit."""
    check_solution(kind, name, BINARY + OTHERS)


def check_solution(kind: str, name: str, units: list[tuple[float, float]]) -> None:
    model, solver = MODELS[kind], SOLVERS[name]
    found = solver(model)
    for money, time in units:
        other = solver(in_units(model, money, time))
        rate = money / time
        assert (other.policy == found.policy).all()
        if (money, time) in BINARY:
            assert (other.gains == found.gains * rate).all()
            assert (other.bias == found.bias * money).all()
            assert (other.lower, other.upper) == (found.lower * rate, found.upper * rate)
            assert other.residual == found.residual * money
        assert other.gains / rate == pytest.approx(found.gains, rel=1e-9)
        assert other.bias / money == pytest.approx(found.bias, rel=1e-6, abs=1e-6)
        apart = found.upper - found.lower
        assert (other.upper - other.lower) / rate <= apart * 1.01 + 1e-13


@pytest.mark.parametrize("name", ["solve", "value iteration", "modified policy iteration"])
@pytest.mark.parametrize("money", [1.0, 1e-9, 1e9])
def test_bounds_are_as_near_as_the_tolerance_says(name: str, money: float) -> None:
    """A tolerance is relative to what is earned and lost around the gain, whatever lies far from it."""
    model = sparse_model(400)
    best = sj.exact.policy_iteration(model)
    pairs = [model.pair(s, a) for s, a in enumerate(best.policy)]
    law = sj.evaluate(model, best.policy).stationary
    around = (
        law @ np.abs(model.reward[pairs] - best.gain * model.duration[pairs]) / (law @ model.duration[pairs])
    )
    never = model.reward.copy()
    never[np.setdiff1d(np.arange(model.num_pairs), pairs)[::2]] -= 1e9
    for reward in (model.reward, never, model.reward + 1e4 * model.duration):
        other = model.with_means(reward * money, model.duration)
        found = SOLVERS[name](other)
        assert found.upper - found.lower <= 2e-8 * around * money
        assert sj.evaluate(model, found.policy).gain >= best.gain - 2e-8 * around


def test_nothing_to_earn() -> None:
    """A model without rewards has the gain 0, and one that always earns the same has that gain, in any unit."""
    model = sparse_model(400)
    for money, name in itertools.product(
        (1e-12, 1.0, 1e12), ("solve", "value iteration", "modified policy iteration")
    ):
        assert SOLVERS[name](model.with_means(0.0 * model.reward, model.duration)).gain == 0.0
        level = SOLVERS[name](model.with_means(0.3 * money * model.duration, model.duration))
        assert level.gain == pytest.approx(0.3 * money, rel=1e-12)
        idle = np.where(model.action == 0, 0.0, -np.abs(model.reward)) * money
        found = SOLVERS[name](model.with_means(idle, model.duration))
        assert (found.gain, found.policy.any()) == (pytest.approx(0.0, abs=1e-8 * money), False)


GAIN_OF_0: naive_audit.Model = [
    {
        0: [
            (Fraction(1, 3), 1, Fraction(0), Fraction(1, 4)),
            (Fraction(1, 3), 0, Fraction(0), Fraction(1, 4)),
            (Fraction(1, 3), 0, Fraction(-1, 4), Fraction(1, 4)),
        ]
    },
    {0: [(Fraction(1), 0, Fraction(0), Fraction(1, 4))], 1: [(Fraction(1), 1, Fraction(0), Fraction(1, 4))]},
]


@settings(max_examples=40, deadline=None)
@given(fraction_models(), powers, powers)
@example(GAIN_OF_0, 2.0, 1.0)
def test_powers_of_two_change_no_bit(fractions: naive_audit.Model, money: float, time: float) -> None:
    """In units of powers of two, solutions and evaluations of any small model are the same bits.

    Where decimals are needed, as for a gain of 0, numbers of 1e-50 of the rewards remain, and these are rounded to base ten.
    """
    model, rate = model_of_fractions(fractions), money / time
    other = in_units(model, money, time)
    nothing = (
        1e-40 * rate * float(np.abs(model.reward / model.duration).max())
    )  # far below the last bit of anything else
    one, two = sj.solve(model), sj.solve(other)
    assert (two.policy == one.policy).all()
    assert (two.lower, two.upper) == pytest.approx((one.lower * rate, one.upper * rate), rel=0, abs=nothing)
    assert two.gains == pytest.approx(one.gains * rate, rel=0, abs=nothing)
    assert (two.bias == one.bias * money).all()
    one_worth, two_worth = sj.evaluate(model, one.policy), sj.evaluate(other, one.policy)
    assert (two_worth.gains == one_worth.gains * rate).all()
    assert (two_worth.bias == one_worth.bias * money).all()


@settings(max_examples=40, deadline=None)
@given(fraction_models(), units, units)
def test_units_change_no_answer(fractions: naive_audit.Model, money: float, time: float) -> None:
    """In any units a policy is found that earns as much, with bounds as near; rounding may decide between equals."""
    model, rate = model_of_fractions(fractions), money / time
    other = in_units(model, money, time)
    size = float(np.abs(model.reward / model.duration).max())
    one, two = sj.solve(model), sj.solve(other)
    kept = sj.evaluate(model, two.policy).gains
    assert kept == pytest.approx(one.gains, rel=1e-9, abs=1e-12 * size)
    assert (two.upper - two.lower) / rate == pytest.approx(one.upper - one.lower, rel=1e-9, abs=1e-9 * size)
    assert sj.evaluate(other, one.policy).gains / rate == pytest.approx(one.gains, rel=1e-9, abs=1e-12 * size)
    assert solve_ratio(other).gain / rate == pytest.approx(solve_ratio(model).gain, rel=1e-9, abs=1e-9 * size)


@pytest.mark.parametrize(
    ("count", "units"),
    [
        *((count, BINARY + OTHERS) for count in (20, 100, 400)),
        (2000, FEW),
        pytest.param(2000, BINARY + OTHERS, marks=pytest.mark.evidence),
    ],
)
def test_an_evaluation_in_other_units(count: int, units: list[tuple[float, float]]) -> None:
    """The gain and the bias of a policy, pure or mixed, do not depend on the units, however it is computed."""
    model = MODELS[f"{count} states"]
    for policy in (np.arange(count) % 3, np.full((count, 3), 1.0 / 3.0)):
        worth = sj.evaluate(model, policy)
        for money, time in units:
            other = sj.evaluate(in_units(model, money, time), policy)
            if (money, time) in BINARY:
                assert (other.gains == worth.gains * (money / time)).all()
                assert (other.bias == worth.bias * money).all()
            assert other.gains * time / money == pytest.approx(worth.gains, rel=1e-9)
            assert other.bias / money == pytest.approx(worth.bias, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", ["long_shot", "long_return", "jobs"])
def test_an_audit_in_other_units(name: str) -> None:
    """Limits, intervals, verdicts and self-confirming policies of an audit do not depend on the units."""
    model = in_units(getattr(sj.problems, name)(), 1.0, 1.0)
    found = sj.audit(model)
    for money, time in BINARY + OTHERS:
        rate = money / time
        other = sj.audit(in_units(model, money, time))
        assert np.array([other.gain, other.low, other.high, other.best_gain]) / rate == pytest.approx(
            np.array([found.gain, found.low, found.high, found.best_gain]), rel=1e-9
        )
        for one, two in zip(found, other, strict=True):
            assert two.keeps_optimum == one.keeps_optimum
            assert (two.error == 0.0) == (one.error == 0.0)
            for field, unit in (
                ("rate", rate),
                ("greedy_gain", rate),
                ("settled_gain", rate),
                ("drift", money),
            ):
                here, there = getattr(one, field), getattr(two, field)
                assert (here is None) == (there is None)
                if here is not None:
                    assert there / unit == pytest.approx(here, rel=1e-6, abs=1e-9)
        for estimator, kept in found.self_confirming.items():
            told = [(one.policy.tolist(), one.trap) for one in kept]
            assert sorted(told) == sorted(
                (one.policy.tolist(), one.trap) for one in other.self_confirming[estimator]
            )
        line, same = found.frontier(), other.frontier()
        assert same.rate / rate == pytest.approx(line.rate, rel=1e-6)
        assert same.value / money == pytest.approx(line.value, rel=1e-6, abs=1e-9)


def test_an_audit_with_a_huge_cost_that_is_avoided() -> None:
    """An action that costs a billion does not hide that another one is a trap, or that a limit is wrong."""
    plain = [(0, 0, 0, 1.0, 5.0, 1.0), (0, 1, 0, 1.0, 12.0, 4.0)]
    for model in (from_transitions(plain), from_transitions([*plain, (0, 2, 0, 1.0, -1e10, 1.0)])):
        found = sj.audit(model, [1], exploration=0.2)
        assert found["Fixed"].error == -3.0
        assert found["Fixed"].keeps_optimum is False
        assert (found.low, found.high) == (7.0 / 3.0, np.inf)
        traps = {tuple(one.policy): one.trap for one in found.self_confirming["Cumulative"]}
        assert traps.get((1,), True)
        assert not traps.get((0,), False)


@functools.cache
def a_log() -> dict[str, Any]:
    """Return a log of random actions in a chain where the best policy is not greedy for the behaviour's values."""
    rng = np.random.default_rng(0)
    law = rng.random((6, 3, 6)) ** 4
    upto = np.cumsum(law / law.sum(axis=2, keepdims=True), axis=2)
    rewards, durations = rng.normal(size=(6, 3)), 0.5 + rng.random((6, 3))
    action, state = rng.integers(0, 3, 20_000), np.zeros(20_000, dtype=np.int64)
    for step, (chosen, drawn) in enumerate(zip(action[:-1], rng.random(19_999), strict=True)):
        state[step + 1] = min(int(np.searchsorted(upto[state[step], chosen], drawn)), 5)
    reward = rewards[state, action] + 0.1 * rng.normal(size=20_000)
    return {"state": state, "action": action, "reward": reward, "duration": durations[state, action]}


@pytest.mark.parametrize(("money", "time"), BINARY + OTHERS)
def test_a_log_in_other_units(money: float, time: float) -> None:
    """What a log earned, what a policy would earn and what would be better do not depend on the units."""
    columns = a_log()
    one = sj.read_log(columns)
    two = sj.read_log(
        {**columns, "reward": columns["reward"] * money, "duration": columns["duration"] * time}
    )
    rate, exactly = money / time, (money, time) in BINARY
    better, other = one.improve(), two.improve()
    assert not better.kept
    assert (other.policy, other.counts, other.kept) == (better.policy, better.counts, better.kept)
    here = [better.gain, better.low, *one.behaviour[:3], *one.evaluate(better.policy)[:3]]
    there = [other.gain, other.low, *two.behaviour[:3], *two.evaluate(better.policy)[:3]]
    assert np.array(there) / rate == pytest.approx(here, rel=0.0 if exactly else 1e-9)
    assert other.beats_behaviour == pytest.approx(better.beats_behaviour, rel=1e-9)


def test_a_given_mean_must_agree_in_any_unit() -> None:
    """A given mean that is not that of its law is refused, however small both are, unless the law's mean is nearly 0."""
    for unit in (1e-12, 1.0, 1e12):

        def made(reward: float, low: float, high: float, unit: float = unit) -> SMDP:
            law = sj.models.laws.flat([TwoPoint(low * unit, high * unit, 0.1)])
            return SMDP([0, 1], [0, 1], [0], [1.0], [reward * unit], [1.0], reward_law=law)

        assert made(0.1, 0.0, 1.0).reward[0] == 0.1 * unit
        assert made(0.0, -0.1, 0.9).reward[0] == 0.0
        with pytest.raises(ValueError, match="the mean reward of state 0, action 0 is given as"):
            made(0.2, 0.0, 1.0)
