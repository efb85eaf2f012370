from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import naive_audit
import sojourn as sj
from sojourn.exact.audit.audit import audit
from sojourn.exact.audit.frontier import frontier, greedy_line, interval
from sojourn.models import SMDP, from_arrays, from_transitions
from sojourn.models.laws import Constant, FlooredNormal, Outcomes, TwoPoint, Uniform
from sojourn.models.problems import PROBLEMS, jobs, long_return, long_shot
from sojourn.rates.catalogue import ESTIMATORS
from sojourn.rates.contrast import Fixed
from strategies import fraction_models, model_of_fractions

EXACT = (
    "Cumulative",
    "SmoothedCumulative",
    "Exponential",
    "TimeSmoothed",
    "Incremental",
    "TimeForgetting",
)

UNKNOWN = ("AdaptiveRatio", "ClippedExponential")


def of_lines(*lines: tuple[float, float]) -> SMDP:
    """One state with an action for each reward and duration."""
    return from_transitions([(0, a, 0, 1.0, float(r), float(d)) for a, (r, d) in enumerate(lines)])


def one_class(chain: naive_audit.Chain) -> list[int]:
    found = naive_audit.classes(chain)
    assume(len(found) == 1)
    return found[0]


# --- Limits --------------------------------------------------------------------------------


@settings(max_examples=80)
@given(fraction_models(), st.data())
def test_limits_of_deterministic_policies(fractions: naive_audit.Model, data: st.DataObject) -> None:
    """Every estimator's limit is that of the law of a step, enumerated in fractions from the table of estimators."""
    policy = [data.draw(st.sampled_from(sorted(state))) for state in fractions]
    chain = [state[action] for state, action in zip(fractions, policy, strict=True)]
    expected = naive_audit.limits(naive_audit.steps(chain, one_class(chain)))
    found = audit(model_of_fractions(fractions), policy)
    assert found.gain == pytest.approx(float(expected["Cumulative"]), rel=1e-9, abs=1e-9)
    assert [limit.estimator for limit in found] == list(ESTIMATORS)
    for limit in found:
        if limit.estimator in UNKNOWN:
            assert limit.rate is limit.error is limit.keeps_optimum is None
            continue
        assert limit.rate == pytest.approx(float(expected[limit.estimator]), rel=1e-9, abs=1e-9)
        error = expected[limit.estimator] - expected["Cumulative"]
        assert limit.error == pytest.approx(float(error), rel=1e-9, abs=1e-9)


@settings(max_examples=50)
@given(fraction_models(), st.data())
def test_limits_of_stochastic_policies(fractions: naive_audit.Model, data: st.DataObject) -> None:
    """Probabilities of actions are mixed into the law of a step, not into its limits."""
    policy = []
    for state in fractions:
        weights = {action: data.draw(st.integers(0, 3)) for action in sorted(state)}
        weights[min(state)] += 1
        policy.append({action: Fraction(w, sum(weights.values())) for action, w in weights.items()})
    chain = naive_audit.followed(fractions, policy)
    expected = naive_audit.limits(naive_audit.steps(chain, one_class(chain)))
    model = model_of_fractions(fractions)
    table = np.zeros((model.num_states, model.num_actions))
    for number, choice in enumerate(policy):
        for action, share in choice.items():
            table[number, action] = float(share)
    for limit in audit(model, table):
        if limit.estimator in UNKNOWN:
            continue
        assert limit.rate == pytest.approx(float(expected[limit.estimator]), rel=1e-9, abs=1e-9)


def of_one_action(*outcomes: tuple[float, float, float]) -> SMDP:
    return from_transitions([(0, 0, 0, 1.0, Outcomes(list(outcomes)))])


@pytest.mark.parametrize(
    ("outcomes", "harmonic", "gain"),
    [
        # r in {1, 3}, each in a time of 1: 2 / (1 + 1/3), against (1 + 3) / 2.
        ([(0.5, 1.0, 1.0), (0.5, 3.0, 1.0)], 1.5, 2.0),
        # A zero counts as one rate of 0, however long it takes: (1 + 0) / 2, against 1 / (1 + 9).
        ([(0.5, 1.0, 1.0), (0.5, 0.0, 9.0)], 0.5, 0.1),
        # Equal rewards: 2 / (1/5 + 4/5) = 10 / 5.
        ([(0.5, 5.0, 1.0), (0.5, 5.0, 4.0)], 2.0, 2.0),
        # +1 in 1 or -1 in 2: (1 - 1/2) / 2, against 0.
        ([(0.5, 1.0, 1.0), (0.5, -1.0, 2.0)], 0.25, 0.0),
        # Independent signs, times and sizes, and a zero: (3 H(1, 2, 4) + 1 H(-2) + 0) / 5 = (36/7 - 2) / 5.
        (
            [(0.2, 1.0, 1.0), (0.2, 2.0, 1.0), (0.2, 4.0, 1.0), (0.2, -2.0, 1.0), (0.2, 0.0, 1.0)],
            22 / 35,
            1.0,
        ),
    ],
)
def test_the_examples_of_the_specification(outcomes: Any, harmonic: float, gain: float) -> None:
    """Where the harmonic mean is right and where not, in numbers that can be checked by hand."""
    found = audit(of_one_action(*outcomes))
    assert found.gain == pytest.approx(gain, abs=1e-15)
    for name in ("Harmonic", "CumulativeHarmonic"):
        assert found[name].rate == pytest.approx(harmonic, rel=1e-14)
        assert found[name].error == pytest.approx(harmonic - gain, abs=1e-14)
    for name in EXACT:
        assert found[name].rate == pytest.approx(gain, abs=1e-15)
    assert found["Fixed"].rate == 0.0


@pytest.mark.parametrize("policy", [[0], [1]])
def test_jobs_of_random_size_are_estimated_well_by_all(policy: list[int]) -> None:
    """Where the duration is the reward times an independent pace s, most limits are the gain; one is E[1/s], one exp(-E[log s])."""
    found = audit(jobs(), policy)
    assert found.gain == pytest.approx(1.0 if policy == [0] else 1.0 / 0.9, rel=1e-14)
    paces = (0.5, 1.5) if policy == [0] else (0.6, 1.2)
    others = {"Fixed": 0.0, "MeanOfRates": sum(1.0 / pace for pace in paces) / 2.0}
    others["PowerMean"] = 1.0 / math.sqrt(paces[0] * paces[1])
    for limit in found:
        if limit.estimator in UNKNOWN:
            continue
        assert limit.rate == pytest.approx(others.get(limit.estimator, found.gain), rel=1e-14)


def test_long_shot() -> None:
    """A's rates 1 and 9 have the harmonic mean 1.8, below 7/3, where the long action is greedy, and stays so at 3."""
    found = audit(long_shot())
    assert (found.gain, found.best_gain, found.high) == (5.0, 5.0, math.inf)
    assert found.low == pytest.approx((12 - 5) / (4 - 1))
    harmonic = found["Harmonic"]
    assert harmonic.rate == pytest.approx(2 / (1 / 1 + 1 / 9), rel=1e-14)  # 1.8
    assert (harmonic.keeps_optimum, harmonic.greedy_gain, harmonic.settled_gain) == (False, 3.0, 3.0)
    assert harmonic.drift == pytest.approx(0.9 * (5 - 1.8))  # A is taken in a share of 0.9 of the steps
    assert found["WeightedHarmonic"].rate == pytest.approx(5.0)
    assert (found["Cumulative"].keeps_optimum, found["Cumulative"].settled_gain) == (True, 5.0)
    assert found["Cumulative"].drift == 0.0
    assert not found["Fixed"].keeps_optimum
    # Under B the harmonic mean is 2 / (4/4 + 4/20) = 5/3, for which B is greedy too.
    assert audit(long_shot(), [1])["Harmonic"].rate == pytest.approx(5 / 3, rel=1e-14)


def test_long_return() -> None:
    """The way back counts as half of all rates: 7.5 of 10, below 740/98, where one settles at 770/101."""
    found = audit(long_return())
    assert (found.gain, found.high) == (10.0, math.inf)
    # Per step A has 15 in 1.5, B 385 in 50.5: they are as good at (385 - 15) / (50.5 - 1.5) = 740/98.
    assert found.low == pytest.approx(740 / 98, rel=1e-14)
    harmonic = found["Harmonic"]
    assert (harmonic.rate, harmonic.keeps_optimum) == (7.5, False)
    assert harmonic.greedy_gain == pytest.approx(770 / 101)
    assert harmonic.settled_gain == pytest.approx(7.6238, abs=5e-5)
    assert harmonic.drift == pytest.approx((30 - 7.5 * 3) / (1 / 0.45 + 1 / 0.45))


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_drift_and_no_error_are_zero_exactly(name: str) -> None:
    """Estimators that come to the gain of an optimal policy have no error and no drift, to the last bit."""
    found = audit(PROBLEMS[name]())
    for estimator in EXACT:
        assert (found[estimator].error, found[estimator].drift) == (0.0, 0.0)


def test_a_model_can_send_one_in_circles() -> None:
    """Where each of two policies makes the other greedy, nothing is settled."""
    # A: rates 1 and 9 in a time of 1, harmonic mean 1.8, gain 5. B: 10 in 4, gain 2.5 = harmonic mean. They are as
    # good at 5/3. At 1.6 B would be greedy; so A's mean has to be lower: 0.5 and 9.5 give 0.95, at which B is greedy.
    model = from_transitions([(0, 0, 0, 1.0, TwoPoint(0.5, 9.5, 0.5), 1.0), (0, 1, 0, 1.0, 10.0, 4.0)])
    harmonic = audit(model)["Harmonic"]
    assert harmonic.rate == pytest.approx(0.95)
    assert harmonic.greedy_gain == 2.5  # B, whose own limit is 2.5, above 5/3, at which A is greedy
    assert harmonic.settled_gain is None


# --- The interval and the frontier -----------------------------------------------------------


def bounded(end: Fraction | None, otherwise: float) -> float:
    return otherwise if end is None else float(end)


@settings(max_examples=150)
@given(fraction_models())
def test_the_interval_is_that_of_all_policies(fractions: naive_audit.Model) -> None:
    """Its ends are those of all lines, one for each class of each policy, and the greedy gain is that of a highest line."""
    lines = naive_audit.lines(fractions)
    low, high = naive_audit.interval(lines)
    best = max(r / d for r, d in lines)
    model = model_of_fractions(fractions)
    best_policy = sj.solve(model)
    found = interval(model, best_policy)
    scale = 1e-7 * max(1.0, abs(float(best)))
    assert found[0] == pytest.approx(bounded(low, -math.inf), rel=1e-7, abs=scale)
    assert found[1] == pytest.approx(bounded(high, math.inf), rel=1e-7, abs=scale)
    assert best_policy.gain == pytest.approx(float(best), abs=1e-9)
    for rate in (Fraction(-7, 3), Fraction(0), Fraction(1, 7), Fraction(22, 7)):
        line = greedy_line(model, float(rate))
        assert line.at(float(rate)) == pytest.approx(float(naive_audit.height(lines, rate)), abs=1e-9)
        gains = [float(gain) for gain in naive_audit.greedy_gains(lines, rate)]
        # A rate that is a third or a seventh is not exactly a float, but lines that meet there are as good.
        assert min(abs(line.gain - gain) for gain in gains) < 1e-9


def test_actions_of_the_same_duration() -> None:
    """Of several actions that take as long, the best decides where the interval ends, in whatever order they stand."""
    for order in itertools.permutations([(5, 1), (8, 4), (12, 4), (1, 0.5), (2, 0.5)]):
        model = of_lines(*order)
        found = interval(model, sj.solve(model))
        assert found == pytest.approx(((12 - 5) / (4 - 1), (5 - 2) / (1 - 0.5)))


def test_ties_of_different_durations() -> None:
    """The interval is of all optimal policies: to the left the longest of them is greedy, to the right the shortest."""
    found = audit(of_lines((2.0, 1.0), (6.0, 3.0), (4.0, 2.0), (9.0, 6.0), (0.1, 0.5)))
    assert found.gain == 2.0
    assert found.low == pytest.approx((9 - 6) / (6 - 3))
    assert found.high == pytest.approx((2 - 0.1) / (1 - 0.5))
    assert found["Cumulative"].keeps_optimum
    assert found["Cumulative"].greedy_gain == 2.0
    alone = audit(of_lines((2.0, 1.0), (6.0, 3.0)))
    assert (alone.low, alone.high) == (-math.inf, math.inf)


def test_where_all_is_worth_nothing_every_rate_will_do() -> None:
    """Rewards that are all zero make every policy optimal."""
    found = audit(of_lines((0.0, 1.0), (0.0, 3.0)))
    assert (found.gain, found.low, found.high) == (0.0, -math.inf, math.inf)
    known = [limit for limit in found if limit.estimator not in UNKNOWN]
    assert all(limit.keeps_optimum and limit.rate == 0.0 for limit in known)


@pytest.mark.parametrize("size", [1e-12, 1e-6, 1.0, 1e6, 1e12])
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_units_do_not_matter(size: float, unit: float) -> None:
    """Rewards and durations in other units give the same answers in those units."""
    plain = audit(long_return())
    names = {"short": (30.0, 2.0), "long": (770.0, 100.0), "return": (0.0, 1.0)}
    options = {f"{name}_reward": reward * size for name, (reward, _) in names.items()}
    options |= {f"{name}_duration": duration * unit for name, (_, duration) in names.items()}
    found = audit(long_return(**options))
    assert found.gain == pytest.approx(plain.gain * size / unit)
    assert found.low == pytest.approx(plain.low * size / unit)
    assert found.high == math.inf
    for limit, expected in zip(found, plain, strict=True):
        if limit.estimator in UNKNOWN:
            continue
        assert expected.rate is not None
        assert expected.greedy_gain is not None
        assert limit.rate == pytest.approx(expected.rate * size / unit)
        assert limit.keeps_optimum == expected.keeps_optimum
        assert limit.greedy_gain == pytest.approx(expected.greedy_gain * size / unit)


@settings(max_examples=60)
@given(fraction_models(), st.integers(-40, 0), st.integers(1, 40))
@example(
    [{0: [(Fraction(1), 0, Fraction(1), Fraction(1))], 1: [(Fraction(1), 0, Fraction(3), Fraction(3))]}],
    -8,
    8,
)
def test_the_frontier_is_the_highest_of_all_lines(fractions: naive_audit.Model, low: int, high: int) -> None:
    """Its corners, and the straight lines between them, are those of all policies; it falls, and is convex."""
    lines = naive_audit.lines(fractions)
    found = frontier(model_of_fractions(fractions), low / 4, high / 4)
    assert (found.rate[0], found.rate[-1]) == (low / 4, high / 4)
    assert (np.diff(found.rate) > 0.0).all()
    for rate in np.linspace(low / 4, high / 4, 33):
        expected = float(naive_audit.height(lines, Fraction(float(rate))))
        assert np.interp(rate, found.rate, found.value) == pytest.approx(expected, abs=1e-7)
    slopes = np.diff(found.value) / np.diff(found.rate)
    assert (slopes < 0.0).all()
    steep = np.flatnonzero(
        np.diff(found.rate) > 1e-6
    )  # between corners that are one but for rounding there is no slope
    assert (np.diff(slopes[steep]) > -1e-5).all()
    # The gain at a corner is that of the line to the right of it.
    for left, right, gain in zip(found.rate[:-1], found.rate[1:], found.gain[:-1], strict=True):
        if right - left > 1e-6:
            middle = Fraction(float(left + right) / 2.0)
            assert any(abs(float(g) - gain) < 1e-6 for g in naive_audit.greedy_gains(lines, middle))


@settings(max_examples=40)
@given(fraction_models())
def test_the_frontier_of_an_audit_is_zero_at_the_optimal_gain(fractions: naive_audit.Model) -> None:
    """F is 0 at the optimal gain, and covers every limit and both ends of the interval."""
    model = model_of_fractions(fractions)
    policy = sj.solve(model).policy
    assume(len(sj.evaluate(model, policy).classes) == 1)
    found = audit(model)
    over = found.frontier()
    assert np.interp(found.best_gain, over.rate, over.value) == pytest.approx(0.0, abs=1e-8)
    for rate in [found.low, found.high, *(limit.rate for limit in found if limit.estimator not in UNKNOWN)]:
        assert rate is not None
        assert over.rate[0] < rate < over.rate[-1] or math.isinf(rate)


def random_model(num_states: int) -> SMDP:
    rng = np.random.default_rng(num_states)
    return from_arrays(
        rng.dirichlet(np.full(num_states, 0.2), size=(num_states, 3)),
        rng.normal(1.0, 1.0, (num_states, 3)),
        rng.uniform(0.5, 5.0, (num_states, 3)),
    )


def test_a_frontier_of_many_corners() -> None:
    """Where F has more corners than are looked for, each value is still exact, and the lines between them are close."""
    model = random_model(120)
    over = frontier(model, -2.0, 4.0)
    assert len(over.rate) > 80
    for rate, value in zip(over.rate[::8], over.value[::8], strict=True):
        assert greedy_line(model, rate).at(rate) == pytest.approx(value, abs=1e-9)
    between = np.linspace(over.rate[0], over.rate[-1], 23)
    exact = np.array([greedy_line(model, rate).at(rate) for rate in between])
    # F may be below the lines between its points, not above. With n points the gap is of the order of 1/n^2.
    gap = np.interp(between, over.rate, over.value) - exact
    assert gap.min() > -1e-9
    assert gap.max() < 1e-3 * np.ptp(exact)


@settings(max_examples=60)
@given(fraction_models(most_states=3))
def test_an_estimate_within_the_interval_does_no_harm(fractions: naive_audit.Model) -> None:
    """`keeps_optimum` is whether all policies that are greedy at the limit are optimal, and so is the one found."""
    model = model_of_fractions(fractions)
    policy = sj.solve(model).policy
    chain = [state[int(action)] for state, action in zip(fractions, policy, strict=True)]
    assume(len(naive_audit.classes(chain)) == 1)
    lines = naive_audit.lines(fractions)
    best = max(r / d for r, d in lines)
    limits = naive_audit.limits(naive_audit.steps(chain, naive_audit.classes(chain)[0]))
    for limit in audit(model):
        if limit.estimator in UNKNOWN:
            continue
        gains = naive_audit.greedy_gains(lines, limits[limit.estimator])
        assert limit.keeps_optimum == (gains == {best})
        if limit.keeps_optimum:
            assert limit.greedy_gain == pytest.approx(float(best), abs=1e-9)
            assert limit.settled_gain == pytest.approx(float(best), abs=1e-9) or limit.estimator not in EXACT
        # The mean surplus of a step at the limit, shared out among the pairs by how often exploration takes them.
        taken = tuple(int(action) for action in policy)
        shares = naive_audit.explored(fractions, taken, Fraction(1, 5))
        assert shares is not None
        law = naive_audit.stationary(chain, naive_audit.classes(chain)[0])
        reward, duration = naive_audit.mean(naive_audit.steps(chain, naive_audit.classes(chain)[0]))
        rounds = sum(share / shares[state, taken[state]] for state, share in law.items())
        growth = (reward - limits[limit.estimator] * duration) / rounds
        assert limit.drift == pytest.approx(float(growth), abs=1e-9)


# --- What cannot be audited ------------------------------------------------------------------


def two_islands(second: float) -> SMDP:
    """Two states that cannot be left."""
    return from_arrays([[[1.0, 0.0]], [[0.0, 1.0]]], rewards=[[1.0], [second]], state_names=["here", "there"])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: audit(two_islands(2.0)), r"the gain depends on the first state, from 1 .* to 2"),
        (lambda: audit(two_islands(1.0)), r"the policy has 2 recurrent classes, .*here.*there"),
        (
            lambda: audit(
                from_arrays([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]], rewards=[[1.0, 0.0]] * 2),
                [0, 0],
            ),
            "the policy has 2 recurrent classes",
        ),
        (lambda: audit(long_shot(), [2]), "state 0 has no action 2; it has 0, 1"),
        (lambda: audit(long_shot(), [0, 0]), r"policy has the shape \(2,\)"),
        (lambda: audit(long_shot(), [0.5]), r"policy has the shape \(1,\)"),
        (lambda: audit(long_shot(), [[0.5, 0.6]]), "probabilities of the state's own actions that sum to 1"),
    ],
)
def test_what_has_no_single_gain_is_refused(call: Any, words: str) -> None:
    """A model or a policy of several gains, or of several laws, is refused in one sentence that names them."""
    with pytest.raises(ValueError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_an_estimator_that_there_is_not() -> None:
    """The names of those that there are are in the sentence."""
    with pytest.raises(KeyError, match="there is no estimator 'Harmonics'; there are Cumulative, "):
        audit(long_shot())["Harmonics"]


def test_every_problem_can_be_audited() -> None:
    """All named problems have an audit, in which the exact estimators come to the gain and keep the optimum."""
    for name, problem in PROBLEMS.items():
        found = audit(problem())
        assert found.gain == pytest.approx(sj.solve(problem()).gain, abs=1e-8), name
        for estimator in EXACT:
            assert found[estimator].rate == pytest.approx(found.gain, rel=1e-9), name
            assert found[estimator].keeps_optimum, name
            assert found[estimator].settled_gain == pytest.approx(found.best_gain, abs=1e-8), name


def test_decisions_without_time_are_refused() -> None:
    """An audit of a policy that takes a decision without time names the pair."""
    model = from_transitions(
        [(0, 0, 1, 1.0, 0.0, 1.0), (0, 1, 1, 1.0, 10.0, 0.0), (1, 0, 0, 1.0, 1.0, 4.0)],
        state_names=["choose", "work"],
    )
    with pytest.raises(
        ValueError, match=r"state 0 \(choose\), action 1 may take no time, and the long-run limit"
    ):
        audit(model)


@pytest.mark.parametrize(
    "law", [Constant(0.0), Uniform(0.0, 0.0), TwoPoint(0.0, 1.0, 0.5), FlooredNormal(1.0, 1.0, 0.0)]
)
def test_every_law_that_may_take_no_time_is_refused(law: Any) -> None:
    """A law that gives a duration of 0 with some probability is refused, in whatever way it is written."""
    model = from_transitions([(0, 0, 1, 1.0, 1.0, 2.0), (1, 0, 0, 1.0, 1.0, law)])
    with pytest.raises(ValueError, match="state 1, action 0 may take no time"):
        audit(model)


@pytest.mark.parametrize("reward", [0.0, 0.1])
def test_decisions_without_time_off_the_policy(reward: float) -> None:
    """Decisions without time that the policy does not take change none of its limits, and no error counts as rounding.

    The slack for rounding was once the largest reward / duration of any pair: infinite here, or nan for a reward of 0.
    """
    model = from_transitions(
        [
            (0, 0, 0, 0.5, 1.0, 1.0),
            (0, 0, 0, 0.5, 9.0, 1.0),
            (0, 1, 1, 1.0, 1.0, 2.0),
            (1, 0, 0, 1.0, reward, 0.0),
        ]
    )
    found = audit(model)
    assert found["Harmonic"].error == pytest.approx(1.8 - 5.0)
    assert found["Fixed"].error == -5.0
    right = found["Cumulative"]
    assert (right.rate, right.error, right.keeps_optimum, right.settled_gain) == (5.0, 0.0, True, 5.0)


def test_traps_beside_decisions_without_time() -> None:
    """A decision without time in a state that is left for good does not hide a trap."""
    rows = [(0, 0, 0, 1.0, 10.0, 10.0), (0, 1, 0, 1.0, 1.0, 0.9), (1, 0, 0, 1.0, 3.0, 0.0)]
    found = audit(from_transitions(rows), estimators=[Fixed(0.0)]).self_confirming["Fixed"]
    assert [(one.policy[0], one.trap) for one in found] == [(0, True)]  # B, which earns 1 in 0.9, is left
