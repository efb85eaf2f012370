"""Every solver against exact fractions, on models that floats find hard.

The true model is that of the floats which the model stores, each pair's probabilities divided by their exact sum; its
gains are those of the best of all policies (`naive_solve`), in fractions.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import naive_solve
import sojourn as sj
from counting import Counted
from sojourn.exact.bounds import bounds
from sojourn.exact.multichain import by_components
from sojourn.models import SMDP, from_transitions

MOST_POLICIES = 32
SOLVERS: dict[str, Any] = {
    "solve": sj.solve,
    "policy iteration": sj.exact.policy_iteration,
    "value iteration": lambda model: sj.exact.value_iteration(model, max_sweeps=2000),
    "modified policy iteration": lambda model: sj.exact.modified_policy_iteration(model, max_sweeps=2000),
    "linear program": sj.exact.linear_program,
    "multichain": lambda model: by_components(model, sj.exact.policy_iteration),
}
SEVERAL = ("solve", "multichain")  # what solves models of several classes
NEVER_SWEEPS = ("solve", "policy iteration", "multichain")  # what has no tolerance of its own
KINDS = (
    "clean",
    "leaks",
    "rewards",
    "durations",
    "subnormal",
    "all",
    "islands",
    "cycle",
    "cancelled",
    "timeless",
    "level",
)


def fractions_of(model: SMDP) -> naive_solve.Model:
    """Return the true model of what an SMDP stores."""
    result: naive_solve.Model = []
    for state in range(model.num_states):
        actions = []
        for pair in range(model.pair_offsets[state], model.pair_offsets[state + 1]):
            law = [Fraction(0)] * model.num_states
            for row in range(model.row_offsets[pair], model.row_offsets[pair + 1]):
                law[model.successor[row]] += Fraction(float(model.probability[row]))
            total = sum(law)
            actions.append(
                ([p / total for p in law], Fraction(model.reward[pair]), Fraction(model.duration[pair]))
            )
        result.append(actions)
    return result


def chain_in_fractions(model: SMDP, policy: Sequence[int]) -> list[naive_solve.Action]:
    """Return the chain of a policy in the true model of what an SMDP stores."""
    places = [model.pair(s, int(a)) - model.pair_offsets[s] for s, a in enumerate(policy)]
    return [actions[a] for actions, a in zip(fractions_of(model), places, strict=True)]


def hard_model(rng: np.random.Generator, kind: str) -> SMDP:
    """Return a random model of up to four states; `kind` says what is hard about it."""
    while True:
        rows = hard_rows(rng, kind)
        try:
            return from_transitions(rows)
        except ValueError as error:
            if "for ever without time passing" not in str(error):
                raise


def hard_rows(rng: np.random.Generator, kind: str) -> list[tuple[int, int, int, float, float, float]]:
    """Return the transitions of such a model; those of the kind "timeless" may go on for ever without time."""
    num_states = int(rng.integers(1, 5))
    rows: list[tuple[int, int, int, float, float, float]] = []
    policies = 1
    for state in range(num_states):
        actions = int(rng.integers(1, 4))
        while policies * actions > MOST_POLICIES:
            actions -= 1
        policies *= actions
        for action in range(actions):
            width = 1 if kind == "cycle" else int(rng.integers(1, 4))
            weights = {int(rng.integers(num_states)): 1.0 for _ in range(width)}
            if kind in ("leaks", "all", "islands", "level"):
                weights = {s: 2.0 ** -int(rng.integers(10, 1001)) for s in weights}
                weights[state if kind != "all" else int(rng.integers(num_states))] = 1.0
            elif kind != "cycle":
                weights = {s: float(rng.integers(1, 8)) for s in weights}
            if kind == "cycle" and action == 0:
                weights = {(state + 1) % num_states: 1.0}
            total = math.fsum(weights.values())
            reward, duration = float(rng.integers(-8, 9)), float(rng.integers(1, 9)) / 2.0
            if kind in ("rewards", "all"):
                reward *= 10.0 ** rng.uniform(-40, 40)
            if kind == "cancelled":
                reward = float(rng.choice([1e20, -1e20])) if rng.random() < 0.5 else reward
            if kind == "level":  # every part earns the same, but for rounding
                reward = 0.3 * duration
            if kind == "subnormal":
                reward *= 1e-322
            if kind == "timeless" and rng.random() < 0.5:
                duration = 0.0
            if kind in ("durations", "all"):
                duration *= 10.0 ** rng.uniform(-40, 40)
            rows += [(state, action, s, w / total, reward, duration) for s, w in weights.items()]
    return rows


def judged(model: SMDP, name: str, truth: list[Fraction], size: Fraction) -> str:
    """Solve a model in one way, and say what the answer is worth: "right", "refused" or what is wrong."""
    try:
        found = SOLVERS[name](model)
    except sj.exact.NotSolvedError as error:
        if "\n" in str(error) or len(str(error)) > 400:
            return "no sentence"
        several = len(model.structure.parts) > 1
        return "several classes" if several and name not in SEVERAL else "refused"
    lower, upper = Fraction(found.lower), Fraction(found.upper)
    if not (lower <= min(truth) and max(truth) <= upper):
        return "bounds crossed"
    if "iteration" in name and upper - lower > size / 10**6 + Fraction(1e-300):
        return "bounds wide"
    if not all(found.lower <= gain <= found.upper for gain in found.gains):
        return "gain outside"
    kept = naive_solve.gains(chain_in_fractions(model, found.policy))
    if min(kept) < lower:
        return "policy below"
    for gain, of_policy, true in zip(found.gains, kept, truth, strict=True):
        near = upper - lower
        if name in NEVER_SWEEPS:
            # The gain may be a mean of those of several classes; it may be 0; and floats end at 5e-324.
            mixed = max(map(abs, truth)) if len(set(truth)) > 1 else abs(true)
            near = mixed / 10**9 + size / 10**25 + Fraction(5e-324)
        if abs(Fraction(float(gain)) - true) > max(near, upper - lower if name == "linear program" else 0):
            return "gain off"
        if true - of_policy > max(near, upper - lower):
            return "policy off"
    return "right"


def tried(seed: int, count: int) -> Counter[tuple[str, str]]:
    """Judge every solver on random models of every kind."""
    rng, counts = np.random.default_rng(seed), Counter[tuple[str, str]]()
    for number in range(count):
        model = hard_model(rng, KINDS[number % len(KINDS)])
        fractions = fractions_of(model)
        truth = naive_solve.optimal_gains(fractions)
        size = max(abs(reward) / (duration or 1) for actions in fractions for _, reward, duration in actions)
        for name in SOLVERS:
            counts[name, judged(model, name, truth, size)] += 1
        bias = rng.normal(size=model.num_states) * 10.0 ** rng.uniform(-30, 30)
        lower, upper = bounds(model, bias)
        lower, upper = (
            max(lower, -1.7e308),
            min(upper, 1.7e308),
        )  # no gain is beyond, and infinity is no fraction
        holds = Fraction(lower) <= min(truth) and max(truth) <= Fraction(upper)
        counts["bounds of any bias", "right" if holds else "bounds crossed"] += 1
    return counts


def faults(counts: Counter[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Return what may not be."""
    return {key: n for key, n in counts.items() if key[1] not in ("right", "refused", "several classes")}


def test_every_solver_is_right_or_refuses() -> None:
    """On hard models of every kind no bound is crossed and no gain is off, and `solve` refuses very few."""
    counts = tried(seed=1, count=200)
    assert not faults(counts)
    assert counts["solve", "refused"] <= 3
    assert counts["solve", "right"] >= 197


@pytest.mark.evidence
@pytest.mark.parametrize("seed", range(10, 14))
def test_ten_thousand_models_against_fractions(seed: int, counted: Counted) -> None:
    """In 4 x 3,000 random models every bound is true, and every gain is that of the best policy."""
    counts = tried(seed, 3000)
    wrong = faults(counts)
    assert not wrong
    assert counts["solve", "refused"] <= 60
    counted("models against exact fractions", tried=3000, failed=len(wrong))


# --- One model for each fault -----------------------------------------------------------------


def test_the_bias_of_any_policy() -> None:
    """The gains and the bias of a policy are those in fractions, however seldom parts of the chain are left."""
    rng, compared = np.random.default_rng(5), 0
    for number in range(300):
        model = hard_model(rng, ("clean", "leaks", "islands", "cycle", "timeless", "level")[number % 6])
        policy = [int(rng.choice(model.action[a:b])) for a, b in itertools.pairwise(model.pair_offsets)]
        chain = chain_in_fractions(model, policy)
        found = sj.evaluate(model, policy)
        for state, (gain, bias) in enumerate(
            zip(naive_solve.gains(chain), naive_solve.biases(chain), strict=True)
        ):
            terms = abs(chain[state][1]) + abs(gain) * chain[state][2]
            assert abs(Fraction(found.gains[state]) - gain) <= abs(gain) / 10**12 + terms / 10**12
            if abs(bias) < Fraction(1.7e308):
                compared += 1
                assert abs(Fraction(found.bias[state]) - bias) <= (abs(bias) + terms) / 10**8
    assert compared > 500


@pytest.mark.parametrize("size", [10, 100, 250, 400])
def test_the_bias_of_a_long_stay(size: int) -> None:
    """A ring that earns what its end earns, but for rounding, and is left once in 1e20 rounds has the bias of fractions.

    A ring that is too large for decimals is refused, since floats show nothing of its bias.
    """
    leak = 1e-20
    ring = [(s, 0, (s + 1) % size, 1.0, 0.1 + 0.4 * (s % 2), 1.0) for s in range(size)]
    model = from_transitions([*ring, (0, 0, size, leak, 0.1, 1.0), (size, 0, size, 1.0, 0.3, 1.0)])
    if size > 300:
        with pytest.raises(ValueError, match="have no solution in floats"):
            sj.evaluate(model, [0] * (size + 1))
        return
    chain = chain_in_fractions(model, [0] * (size + 1))
    p, gain = chain[0][0][size], chain[size][1]
    round_ = sum((chain[s][1] - gain for s in range(1, size)), Fraction(0))
    bias = (chain[0][1] - gain + (1 - p) * round_) / p
    found = sj.evaluate(model, [0] * (size + 1))
    assert found.gain == pytest.approx(0.3, rel=1e-15)
    assert abs(bias) > 10
    assert found.bias[0] == pytest.approx(float(bias), rel=1e-12)


@pytest.mark.parametrize("power", [10, 30, 53, 54, 300, 1000])
def test_a_small_leak_is_a_way_out(power: int) -> None:
    """A way out is taken however small its probability is: the model of a state that leaks has one gain, 3."""
    e = 2.0**-power
    model = from_transitions(
        [
            (0, 0, 0, 1.0, 0.0, 1.0),
            (0, 1, 0, 1.0 - e, 2.0, 1.0),
            (0, 1, 1, e, 2.0, 1.0),
            (1, 0, 1, 1.0, 3.0, 1.0),
        ]
    )
    found = sj.solve(model)
    assert found.gains.tolist() == [3.0, 3.0]
    assert found.gain == 3.0
    assert found.policy.tolist() == [1, 0]
    assert found.lower <= 3.0 <= found.upper
    assert found.upper - found.lower < 1e-14
    assert sj.evaluate(model, [1, 0]).gains.tolist() == [3.0, 3.0]
    assert sj.evaluate(model, [1, 0]).bias[0] == pytest.approx(-1.0 / e)


def test_leaks_within_leaks() -> None:
    """States that leave each other with 2^-700 and 2^-900 are one class: the product underflows, the law does not."""
    slow, slower = 2.0**-700, 2.0**-900
    model = from_transitions(
        [
            (0, 0, 0, 1.0, 0.0, 1.0),
            (0, 0, 1, slow, 0.0, 1.0),
            (1, 0, 1, 1.0, 6.0, 1.0),
            (1, 0, 2, slower, 6.0, 1.0),
            (2, 0, 0, 1.0, 0.0, 1.0),
        ]
    )
    worth = sj.evaluate(model, [0, 0, 0])
    assert worth.stationary == pytest.approx([2.0**-200, 1.0, slower], rel=1e-12)
    assert worth.gain == pytest.approx(6.0, rel=1e-15)
    assert sj.solve(model).gain == pytest.approx(6.0, rel=1e-15)


def test_a_way_out_that_leads_back() -> None:
    """A way out that leads back but for one part in 1e38 is taken as often as it needs: all play for 12."""
    model = from_transitions(
        [
            ("detour", "go", "detour", 1.0, 7.0, 2.0),
            ("detour", "go", "home", 2.0**-68, 7.0, 2.0),
            ("home", "stay", "home", 1.0, -4.0, 2.0),
            ("home", "leave", "home", 1.0, 7.0, 3.5),
            ("home", "leave", "detour", 2.0**-633, 7.0, 3.5),
            ("home", "leave", "best", 2.0**-760, 7.0, 3.5),
            ("best", "stay", "best", 1.0, 6.0, 0.5),
        ]
    )
    found = sj.solve(model)
    assert found.gain == 12.0
    assert found.policy[1] == 2


def test_small_gains_are_not_one() -> None:
    """Two classes with gains of 1e-12 and 3e-12 have two gains: there is no absolute tolerance."""
    model = from_transitions([(0, 0, 0, 1.0, 1e-12, 1.0), (1, 0, 1, 1.0, 3e-12, 1.0)])
    for answer in (sj.solve(model), sj.evaluate(model, [0, 0])):
        assert answer.gains.tolist() == [1e-12, 3e-12]
        with pytest.raises(ValueError, match="the gain depends on the first state"):
            _ = answer.gain


def test_a_bias_beyond_the_floats_is_refused() -> None:
    """Where the relative value of a state is 2^1074, the sentence has the gain and names the state."""
    e = 5e-324
    model = from_transitions(
        [(0, 0, 0, 1.0, 2.0, 1.0), (0, 0, 1, e, 2.0, 1.0), (1, 0, 1, 1.0, 3e5, 1.0)],
        state_names=["idle", "busy"],
    )
    with pytest.raises(
        sj.exact.NotSolvedError,
        match=r"the gain of state . \(.*\) is 300000, but its bias is too large for a float",
    ):
        sj.solve(model)


def test_rewards_that_cancel() -> None:
    """1e20 earned and 1e20 lost in each cycle leave the gain 0.5 of what else there is."""
    model = from_transitions(
        [(0, 0, 1, 1.0, 1e20, 1.0), (1, 0, 2, 1.0, 1.5, 1.0), (2, 0, 0, 1.0, -1e20, 1.0)]
    )
    assert sj.solve(model).gain == 0.5
    assert sj.evaluate(model, [0, 0, 0]).gain == 0.5


def test_larger_models_are_refused_or_right() -> None:
    """A chain of 400 states with leaks of 1e-40 is refused in a sentence; one of 60 is solved in decimals."""

    def ring(size: int) -> SMDP:
        rows: list[tuple[int, int, int, float, float, float]] = []
        for s in range(size):
            leak = 1e-40 if s % 2 else 1e-3
            rows += [(s, 0, s, 1.0 - leak, float(s), 1.0), (s, 0, (s + 1) % size, leak, float(s), 1.0)]
        return from_transitions(rows)

    # The odd states have all of the time, in equal shares.
    assert sj.solve(ring(60)).gain == pytest.approx(30.0, rel=1e-12)
    with pytest.raises(sj.exact.NotSolvedError, match=r"too different in size|differ too much"):
        sj.solve(ring(400))


# --- Decisions that take no time ------------------------------------------------------------------


@pytest.mark.parametrize("name", SOLVERS)
def test_a_reward_in_no_time(name: str) -> None:
    """Action 1 pays 10 in no time, then a job pays 1 in a time of 4: 11 / 4 = 2.75, by every solver."""
    model = from_transitions([(0, 0, 1, 1.0, 0.0, 0.0), (0, 1, 1, 1.0, 10.0, 0.0), (1, 0, 0, 1.0, 1.0, 4.0)])
    found = SOLVERS[name](model)
    assert naive_solve.optimal_gains(fractions_of(model)) == [Fraction(11, 4)] * 2
    assert found.gain == pytest.approx(2.75, abs=1e-8)
    assert found.lower <= 2.75 <= found.upper
    assert found.upper - found.lower < 1e-8
    assert found.policy.tolist() == [1, 0]
    assert sj.evaluate(model, [1, 0]).gain == 2.75


def test_a_retry_in_no_time() -> None:
    """Retries that cost 1 each in no time, until one in 2^20 succeeds, are paid 2^20 times in each job."""
    e = 2.0**-20
    model = from_transitions(
        [(0, 0, 0, 1.0 - e, -1.0, 0.0), (0, 0, 1, e, -1.0, 0.0), (1, 0, 0, 1.0, 0.0, 4.0)]
    )
    assert sj.solve(model).gain == pytest.approx(-(2.0**18), rel=1e-12)


def test_time_must_pass() -> None:
    """A model is refused exactly if some policy can stay among decisions without time, and the states are named."""
    rng, counts = np.random.default_rng(3), Counter[bool]()
    for _ in range(150):
        rows = hard_rows(rng, "timeless")
        timed = fractions_of(from_transitions([(*row[:4], 1.0 if row[5] else 0.0, 1.0) for row in rows]))
        # With a reward of 1 where time passes, a policy that some state has no gain from stays without time.
        stuck = min(min(naive_solve.gains(list(chain))) for chain in itertools.product(*timed)) == 0
        try:
            from_transitions(rows)
            refused = False
        except ValueError as error:
            refused = "a policy can stay in {" in str(error)
        assert refused == stuck
        counts[refused] += 1
    assert min(counts[True], counts[False]) > 20
