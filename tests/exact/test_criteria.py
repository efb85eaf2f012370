"""Totals: discounted, until a set of states, and of some steps, against value iteration in plain Python and other programs."""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction
from typing import Any

import gymnasium
import numpy as np
import pytest
from scipy import integrate, stats

import naive_solve
import sojourn as sj
from sojourn.exact import NotSolvedError
from sojourn.models import laws
from sojourn.models.laws import (
    Constant,
    Exponential,
    FlooredNormal,
    Gamma,
    Law,
    Lognormal,
    TwoPoint,
    Uniform,
    Weibull,
)

# --- Transforms of laws -------------------------------------------------------------------


def mean_of(function: Any, law: Law) -> float:
    """Integrate a function over a law, by SciPy's own densities."""
    match law:
        case Constant(value):
            return float(function(value))
        case TwoPoint(low, high, chance):
            return float((1.0 - chance) * function(low) + chance * function(high))
        case FlooredNormal(location, scale, floor):
            known = stats.norm(location, scale)
            above = integrate.quad(
                lambda x: function(x) * known.pdf(x), floor, location + 40.0 * scale, epsabs=0
            )[0]
            return float(known.cdf(floor) * function(floor) + above)
        case Exponential(mean):
            found = stats.expon(scale=mean)
        case Gamma(shape, scale):
            found = stats.gamma(shape, scale=scale)
        case Weibull(shape, scale):
            found = stats.weibull_min(shape, scale=scale)
        case Lognormal(median, sigma):
            found = stats.lognorm(sigma, scale=median)
        case Uniform(low, high):
            found = stats.uniform(low, high - low)
    ends = found.ppf([1e-15, 1e-6, 1e-2, 0.3, 0.6, 0.9, 0.999, 1.0 - 1e-9, 1.0 - 1e-15])
    pieces = itertools.pairwise(ends)
    return math.fsum(
        integrate.quad(lambda x: function(x) * found.pdf(x), a, b, epsabs=0, epsrel=1e-12)[0]
        for a, b in pieces
    )


DURATIONS: list[Law] = [
    Constant(1.7), Exponential(0.6), Gamma(2.5, 0.4), Gamma(0.7, 3.0), TwoPoint(0.2, 5.0, 0.3), Uniform(0.0, 2.0),
    Uniform(1.0, 7.0), FlooredNormal(1.0, 0.4, 0.1), FlooredNormal(-1.0, 2.0, 0.3), Weibull(0.8, 1.3), Weibull(3.0, 2.0),
    Lognormal(1.2, 0.5), Lognormal(0.8, 1.5),
]  # fmt: skip


@pytest.mark.parametrize("law", DURATIONS)
def test_transforms_are_the_integrals(law: Law) -> None:
    """E exp(-k X) and E 1 - exp(-k X) of every kind of law are what an independent integration finds, also for small k."""
    for k in (1e-7, 0.03, 1.0, 12.0):
        kept, lost = laws.transforms(laws.flat([law]), k)[0], laws.losses(laws.flat([law]), k)[0]
        assert kept == pytest.approx(mean_of(lambda x, k=k: math.exp(-k * x), law), rel=1e-8)
        assert lost == pytest.approx(mean_of(lambda x, k=k: -math.expm1(-k * x), law), rel=1e-7)
        assert kept + lost == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize(
    "law",
    [
        Constant(3.0),
        Exponential(3.0),
        Gamma(2.0, 1.5),
        Uniform(1.0, 5.0),
        TwoPoint(1.0, 5.0, 0.5),
        Lognormal(3.0, 1.8),
    ],
)
def test_small_losses_keep_their_digits(law: Law) -> None:
    """At k = 1e-9, E 1 - exp(-k X) is k E X - k^2 E X^2 / 2 to 13 digits."""
    squares = {Constant: 9.0, Exponential: 18.0, Gamma: 13.5, Uniform: 31.0 / 3.0, TwoPoint: 13.0}
    k, square = 1e-9, squares.get(type(law), 9.0 * math.exp(2.0 * 1.8**2))
    expected = k * laws.mean(law) - k * k * square / 2.0
    assert laws.losses(laws.flat([law]), k)[0] == pytest.approx(expected, rel=2e-14)


# --- Random models against value iteration ------------------------------------------------

KINDS: list[Law] = [
    Constant(0.9), Exponential(1.4), Gamma(2.0, 0.5), Uniform(0.5, 2.0), TwoPoint(0.5, 3.0, 0.4), Weibull(1.5, 1.1)
]  # fmt: skip


def drawn(seed: int) -> tuple[sj.SMDP, list[list[list[tuple[float, int, float, Law]]]]]:
    """Return a random model whose rows have rewards and laws of their own, and the same as lists."""
    rng = np.random.default_rng(seed)
    states, lists, rows = int(rng.integers(2, 7)), [], []
    for state in range(states):
        actions = []
        for action in range(int(rng.integers(1, 4))):
            chances = rng.dirichlet(np.ones(int(rng.integers(1, 4)))).tolist()
            targets = rng.integers(0, states, len(chances)).tolist()
            targets[0] = state + 1 if state + 1 < states else 0
            outcomes = [
                (p, after, float(rng.normal()), KINDS[int(rng.integers(len(KINDS)))])
                for p, after in zip(chances, targets, strict=True)
            ]
            rows += [(state, action, after, p, reward, law) for p, after, reward, law in outcomes]
            actions.append(outcomes)
        lists.append(actions)
    return sj.models.from_transitions(rows), lists


def weighed(
    lists: list[list[list[tuple[float, int, float, Law]]]], discount: float | None, paid: str
) -> list[list[naive_solve.Paying]]:
    """Return the weights and payments of every action, from the definition."""

    @functools.cache
    def kept(law: Law) -> float:
        return 1.0 if discount is None else mean_of(lambda x: math.exp(-discount * x), law)

    def worth(reward: float, law: Law) -> float:
        if paid == "start" or discount is None:
            return reward
        return reward * (kept(law) if paid == "end" else (1.0 - kept(law)) / (discount * laws.mean(law)))

    return [
        [
            (
                [(p * kept(law), after) for p, after, _, law in action],
                sum(p * worth(r, law) for p, _, r, law in action),
            )
            for action in actions
        ]
        for actions in lists
    ]


@pytest.mark.parametrize("paid", ["start", "end", "during"])
def test_discounted_totals_agree_with_value_iteration(paid: Any) -> None:
    """On random models with laws of their own in every row: values, policies, `evaluate`, and steps, for each way to pay."""
    for seed in range(4):
        model, lists = drawn(seed)
        for discount in (0.05, 1.3):
            naive = weighed(lists, discount, paid)
            sweeps = int(40.0 / discount) + 40
            found = sj.solve(model, discount=discount, paid=paid)
            assert found.values == pytest.approx(naive_solve.largest_totals(naive, set(), sweeps), abs=1e-7)
            check_bounds(found)
            worth = sj.evaluate(model, found.policy, discount=discount, paid=paid)
            assert worth.values == pytest.approx(found.values.tolist(), rel=1e-10, abs=1e-11)
            until = sj.solve(model, discount=discount, paid=paid, until=0)
            assert until.values == pytest.approx(naive_solve.largest_totals(naive, {0}, sweeps), abs=1e-7)
            some = sj.solve(model, discount=discount, paid=paid, steps=5)
            assert some.values == pytest.approx(naive_solve.largest_totals(naive, set(), 5), abs=1e-9)
            check_bounds(some)
            followed = sj.evaluate(model, some.policy, discount=discount, paid=paid, steps=5)
            assert followed.values == pytest.approx(some.values.tolist(), abs=1e-11)


def check_bounds(found: sj.exact.Solution) -> None:
    """Bounds enclose the values, and are close."""
    assert (found.lower <= found.values).all()
    assert (found.values <= found.upper).all()
    assert (found.upper - found.lower).max() <= 1e-9 * np.abs(found.values).max() + 1e-11


def test_totals_of_steps_agree_with_value_iteration() -> None:
    """Without a discount too, with the policy of each step; one step less is the rest of the policy."""
    for seed in range(20):
        model, lists = drawn(seed)
        naive = weighed(lists, None, "start")
        found = sj.solve(model, steps=7)
        assert found.values == pytest.approx(naive_solve.largest_totals(naive, set(), 7), abs=1e-12)
        assert found.policy.shape == (7, model.num_states)
        assert (np.asarray(sj.solve(model, steps=6).policy) == np.asarray(found.policy)[1:]).all()
        ended = sj.solve(model, steps=7, until=[1])
        assert ended.values == pytest.approx(naive_solve.largest_totals(naive, {1}, 7), abs=1e-12)


def fractions_of(rng: np.random.Generator, free: bool) -> naive_solve.Model:
    """Return a random model in fractions that floats hold exactly, in which one can always go on to the next state."""
    states, model = int(rng.integers(2, 6)), []
    for state in range(states):
        actions: list[naive_solve.Action] = []
        for action in range(int(rng.integers(1, 4))):
            law = [Fraction(0)] * states
            parts = rng.multinomial(8, np.ones(states) / states) if action else [0] * states
            for after, part in enumerate(parts):
                law[after] += Fraction(int(part), 8)
            if not action:
                law[min(state + 1, states - 1)] = Fraction(1)
            cost = -int(rng.integers(0 if free else 1, 4)) * int(rng.random() < 0.5 or not free)
            actions.append((law, Fraction(cost), Fraction(1)))
        model.append(actions)
    return model


@pytest.mark.parametrize("free", [False, True])
def test_bounds_hold_the_exact_total_until_the_end(free: bool) -> None:
    """In 40 models the largest total of all policies in fractions is between the bounds; steps may be free, in circles too."""
    rng = np.random.default_rng(int(free))
    for _ in range(40):
        fractions = fractions_of(rng, free)
        end = len(fractions) - 1
        rows = [
            (state, action, after, float(p), float(reward), 1.0)
            for state, actions in enumerate(fractions)
            for action, (law, reward, _) in enumerate(actions)
            for after, p in enumerate(law)
            if p
        ]
        found = sj.solve(sj.models.from_transitions(rows), until=end)
        expected = naive_solve.optimal_totals_until(fractions, {end})
        for low, value, high in zip(found.lower.tolist(), expected, found.upper.tolist(), strict=True):
            assert Fraction(low) <= value <= Fraction(high)
        assert (found.upper - found.lower).max() < 1e-11
        worth = sj.evaluate(found.model, found.policy, until=end)
        assert worth.values == pytest.approx([float(each) for each in expected], abs=1e-12)


# --- Other programs -----------------------------------------------------------------------


def test_quantecon_discrete_dp() -> None:
    """The first example of QuantEcon's DiscreteDP (its documentation: v = -8.57142857, -20 at a factor of .95)."""
    rows = [
        (0, 0, 0, 0.5, 5.0, 1.0),
        (0, 0, 1, 0.5, 5.0, 1.0),
        (0, 1, 1, 1.0, 10.0, 1.0),
        (1, 0, 1, 1.0, -1.0, 1.0),
    ]
    found = sj.solve(sj.models.from_transitions(rows), discount=-math.log(0.95))
    assert found.values == pytest.approx([-8.57142857, -20.0], abs=1e-8)
    assert found.policy.tolist() == [0, 0]


def test_frozen_lake() -> None:
    """On Gymnasium's slippery 4 x 4 lake the goal is reached with probability 14/17 at best, however long one walks for nothing."""
    lake: Any = gymnasium.make("FrozenLake-v1", map_name="4x4").unwrapped
    rows = [
        (state, action, after, p, reward, 1.0)
        for state, actions in lake.P.items()
        for action, outcomes in actions.items()
        for p, after, reward, _ in outcomes
    ]
    ends = [place for place, kind in enumerate(lake.desc.ravel()) if kind in b"GH"]
    found = sj.solve(sj.models.from_transitions(rows), until=ends)
    assert found.values[0] == pytest.approx(14.0 / 17.0, abs=1e-14)
    assert 14.0 / 17.0 - 1e-12 < found.lower[0] <= found.upper[0] < 14.0 / 17.0 + 1e-12


def growth() -> sj.SMDP:
    """The stochastic growth model of QuantEcon's lecture on discrete dynamic programs: B = 10, M = 5, alpha = .5."""
    rows = [
        (stock, saved, saved + shock, 1.0 / 11.0, (stock - saved) ** 0.5, 1.0)
        for stock in range(16)
        for saved in range(min(stock, 5) + 1)
        for shock in range(11)
    ]
    return sj.models.from_transitions(rows)


def test_quantecon_growth() -> None:
    """Values and policies that quantecon 0.11.4 computes at a factor of .9, for ever and for four steps."""
    found = sj.solve(growth(), discount=-math.log(0.9))
    assert found.values == pytest.approx(
        [19.01740222, 20.01740222, 20.43161578, 20.74945302, 21.04078099, 21.30873018, 21.54479816, 21.76928181,
         21.98270358, 22.18824323, 22.3845048, 22.57807736, 22.76109127, 22.94376708, 23.11533996, 23.27761762], abs=1e-8
    )  # fmt: skip
    assert found.policy.tolist() == [0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 5, 5, 5, 5]
    four = sj.solve(growth(), discount=-math.log(0.9), steps=4)
    assert four.values[[0, 7, 15]] == pytest.approx([5.07614841, 7.82264392, 9.32133291], abs=1e-8)
    assert four.policy[0].tolist() == [0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 5]


# --- Large, slow and rare -----------------------------------------------------------------


def walk(size: int, up: float) -> sj.SMDP:
    """A queue that costs its length: served slowly, or fast for 3."""
    rows = []
    for state in range(size):
        for action, (down, cost) in enumerate([(1.0, 0.0), (2.0, 3.0)]):
            total = up + down
            rows += [
                (
                    state,
                    action,
                    min(state + 1, size - 1),
                    up / total,
                    -(state + cost) / total,
                    Exponential(1.0 / total),
                ),
                (
                    state,
                    action,
                    max(state - 1, 0),
                    down / total,
                    -(state + cost) / total,
                    Exponential(1.0 / total),
                ),
            ]
    return sj.models.from_transitions(rows)


@pytest.mark.parametrize("discount", [1e-6, 0.1])
def test_a_queue_of_600_states_with_small_discounts(discount: float) -> None:
    """Sparse systems too give close bounds; with a tiny discount, discount x value is the gain up to a bias."""
    model = walk(600, 0.9)
    found = sj.solve(model, discount=discount)
    assert (found.upper - found.lower).max() < 1e-8 * np.abs(found.values).max()
    assert (found.lower <= found.values).all()
    assert (found.values <= found.upper).all()
    if discount < 1e-3:
        free = sj.solve(model)
        assert discount * found.values[0] == pytest.approx(free.gain, rel=1e-3)
        assert (found.policy == free.policy)[:50].all()


def test_a_rare_failure_is_waited_for_as_long_as_it_takes() -> None:
    """The mean time to a failure of probability 1e-10 is 1e10 runs, with 12 digits."""
    model = sj.models.from_dict(
        {
            "run": {"go": {"duration": 2.0, "reward": 1.0, "next": {"run": 1.0 - 1e-10, "failed": 1e-10}}},
            "failed": {"repair": {"duration": 1.0, "reward": 0.0, "next": "run"}},
        }
    )
    worth = sj.evaluate(model, {}, until="failed")
    assert worth.total("duration")[0] == pytest.approx(2e10, rel=1e-12)
    assert worth.upper[0] - worth.lower[0] < 1e-12 * 1e10


# --- Policies that draw, other amounts, sentences -----------------------------------------


def cells() -> sj.SMDP:
    """Three cells in a row: one may stay, go left, or go right, each for nothing; the goal on the right is worth 1."""
    return sj.models.from_dict(
        {
            "left": {"stay": {"reward": 0, "duration": 1, "next": "left"}, "right": {"reward": 0, "duration": 1, "next": "middle"}},
            "middle": {"left": {"reward": 0, "duration": 1, "next": "left"}, "right": {"reward": 1, "duration": 1, "next": "goal"}},
            "goal": {"rest": {"reward": 0, "duration": 1, "next": "goal"}},
        }
    )  # fmt: skip


def test_free_circles_do_no_harm() -> None:
    """One may go round in circles for nothing: the total is 1, proven, and the policy reaches the goal."""
    found = sj.solve(cells(), until="goal")
    assert found.values.tolist() == [1.0, 1.0, 0.0]
    assert found.policy["left"] == found.policy["middle"] == "right"
    assert found.upper.max() < 1.0 + 1e-13


def test_a_policy_that_never_gets_there_is_named() -> None:
    """`evaluate` has no total from states from which the policy may never reach the end, and says which these are."""
    worth = sj.evaluate(cells(), {"left": "stay", "middle": "right"}, until="goal")
    assert worth.values.tolist()[1:] == [1.0, 0.0]
    assert math.isnan(worth.values[0])
    assert "from {left} the policy may never reach {goal}, so there is no total from there" in worth.findings
    with pytest.raises(ValueError, match=r"not sure to reach \{goal\} from any state"):
        sj.evaluate(cells(), {"left": "stay", "middle": "left"}, until="goal")


def test_no_policy_gets_there() -> None:
    """`solve` says from where no policy is sure to reach the end, and where one can earn for ever without reaching it."""
    with pytest.raises(NotSolvedError, match=r"from \{goal\} no policy is sure to reach \{left\}"):
        sj.solve(cells(), until="left")
    earning = sj.models.from_dict(
        {
            "a": {
                "stay": {"reward": 1, "duration": 1, "next": "a"},
                "go": {"reward": 5, "duration": 1, "next": "b"},
            },
            "b": {"rest": {"reward": 0, "duration": 1, "next": "b"}},
        }
    )
    with pytest.raises(NotSolvedError, match=r"in \{a\} a policy can earn for ever without reaching \{b\}"):
        sj.solve(earning, until="b")


def test_a_policy_that_draws_is_worth_the_mean() -> None:
    """Half of the time right: from the left cell it takes four steps on average to leave it and the next, by a pencil."""
    model = cells()
    half = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 0.0]])
    names = model.action_names or ()
    assert names == ("stay", "right", "left", "rest")
    half = np.zeros((3, 4))
    half[0, [0, 1]], half[1, [1, 2]], half[2, 3] = 0.5, 0.5, 1.0
    worth = sj.evaluate(model, half, until=["goal"])
    # t_left = 1 + (t_left + t_middle) / 2 and t_middle = 1 + t_left / 2: t_left = 6, t_middle = 4
    assert worth.total("steps").tolist() == pytest.approx([6.0, 4.0, 0.0])
    assert worth.values.tolist() == pytest.approx([1.0, 1.0, 0.0])


def test_amounts_in_total() -> None:
    """`maximise` takes another amount, and `total` gives the others; discounted energy of 5 at each step of a time of 1."""
    pair = {"reward": 6, "duration": 1, "next": "on", "amounts": {"energy": 5}}
    model = sj.models.from_dict({"on": {"go": pair}})
    kept = math.exp(-0.2)
    assert sj.solve(model, maximise="energy", discount=0.2).values == pytest.approx([5.0 / (1.0 - kept)])
    late = sj.solve(model, maximise="energy", discount=0.2, paid="end")
    assert late.values == pytest.approx([5.0 * kept / (1.0 - kept)])
    worth = sj.evaluate(model, [0], discount=0.2, paid="during")
    assert worth.values == pytest.approx([30.0])  # 6 per unit time, for a mean time of 1 / 0.2
    assert worth.total("energy") == pytest.approx([25.0])
    assert worth.total("duration") == pytest.approx([5.0])


def test_means_alone_are_constant_durations_and_say_so() -> None:
    """Without laws a finding says that durations are taken to be constant; with laws there is none."""
    model = sj.problems.long_return()
    note = "the durations have no laws, so each is taken to be constant"
    assert note in sj.solve(model, discount=0.1).findings
    assert note in sj.evaluate(model, [0, 0], discount=0.1).findings
    assert note not in sj.solve(model.with_laws(duration=Exponential), discount=0.1).findings
    assert note not in sj.solve(model, steps=3).findings


def test_a_total_has_no_gain() -> None:
    """The same `Solution` has the values; asking it for the gain is answered in a sentence."""
    found = sj.solve(sj.problems.long_return(), discount=0.1)
    assert isinstance(found, sj.exact.Solution)
    assert (
        found.criterion == "total reward, discounted by 0.1 per unit time and paid at the start of each step"
    )
    with pytest.raises(ValueError, match="has no gain; use values"):
        _ = found.gain


def test_wrong_words_get_a_sentence() -> None:
    """Each wrong word for a total is named, with what to do."""
    model = cells()
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"discount": -1}, "discount is -1"),
        ({"discount": 0.1, "paid": "later"}, "paid is 'later'; it must be"),
        ({"paid": "end"}, "there is no discount"),
        ({"until": "gaol"}, "until: there is no state 'gaol'; did you mean 'goal'"),
        ({"until": 7}, "until has state 7; states are 0 to 2"),
        ({"until": []}, "until has no states"),
        ({"steps": 0}, "steps is 0"),
        ({"steps": 10**9}, "too large"),
        ({"discount": 0.1, "per": "steps"}, "not counted per anything"),
        ({"discount": 0.1, "limits": [sj.exact.at_most("steps", 2)]}, "cannot have limits"),
    ]
    for words, sentence in wrong:
        with pytest.raises(ValueError, match=sentence):
            sj.solve(model, **words)


def test_states_by_their_labels() -> None:
    """Tuples and whole numbers as labels name states in `until`, one or several."""
    model = sj.models.from_dict(
        {
            (0, 1): {"go": {"reward": 2, "duration": 1, "next": (1, 1)}},
            (1, 1): {"go": {"reward": 3, "duration": 1, "next": (0, 1)}},
        }
    )
    assert sj.solve(model, until=(1, 1)).values.tolist() == [2.0, 0.0]
    assert sj.solve(model, until=[(0, 1), (1, 1)]).values.tolist() == [0.0, 0.0]
    assert sj.solve(model, until=0).values.tolist() == [0.0, 3.0]
    assert sj.solve(model, steps=3).policy[0][(1, 1)] == "go"
