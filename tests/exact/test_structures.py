"""Models as people have them: queues, an inventory, machines, selfish mining, a ring; small forms of bench/structures.py."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import sojourn as sj
from sojourn.exact import operators
from sojourn.exact.bounds import bounds, longest_timeless
from sojourn.exact.coarse import coarse_start, coarser
from sojourn.exact.direct import cost_in_sweeps, direct_policy_iteration, estimate, is_narrow
from sojourn.models import SMDP, from_transitions

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
import structures

SMALL: dict[str, Callable[[], SMDP]] = {
    "two queues, load .65": lambda: structures.two_queues(24, 0.65),
    "two queues, load .98": lambda: structures.two_queues(24, 0.98),
    "two queues, load 1.2": lambda: structures.two_queues(24, 1.2),
    "three queues in a row": lambda: structures.tandem(8),
    "polling": lambda: structures.polling(12),
    "inventory": lambda: structures.inventory(400, mean=10.0),
    "three machines": lambda: structures.machines(8),
    "ring": lambda: structures.ring(501),
    "selfish mining": lambda: structures.selfish_mining(14, 0.4),
    "two job classes": lambda: structures.job_classes(22),
    "random": lambda: structures.random_model(600),
}


def plain(model: SMDP) -> tuple[float, Any]:
    """Return the optimal gain and a policy's pairs by policy iteration with dense matrices, from the definitions alone."""
    n, first = model.num_states, model.pair_offsets
    law = np.zeros((model.num_pairs, n))
    np.add.at(
        law,
        (np.repeat(np.arange(model.num_pairs), np.diff(model.row_offsets)), model.successor),
        model.probability,
    )
    pairs = np.array(
        [first[s] + np.argmax(model.duration[first[s] : first[s + 1]] > 0.0) for s in range(n)]
    )  # time passes wherever it can
    while True:
        system = np.eye(n) - law[pairs]
        system[:, 0] = model.duration[
            pairs
        ]  # one recurrent class that holds state 0, or leads away from it for good
        bias = np.linalg.solve(system, model.reward[pairs])
        gain, bias[0] = bias[0], 0.0
        value = model.reward - gain * model.duration + law @ bias
        best = np.array([first[s] + np.argmax(value[first[s] : first[s + 1]]) for s in range(n)])
        better = value[best] > value[pairs] + 1e-10 * np.abs(bias).max()
        if not better.any():
            return float(gain), pairs
        pairs = np.where(better, best, pairs)


@pytest.mark.parametrize("name", SMALL)
def test_structures_against_plain_policy_iteration(name: str) -> None:
    """`solve` and policy iteration by factors find the gain that dense policy iteration finds, with bounds around it."""
    model = SMALL[name]()
    assert model.num_states > 300  # or decimals would be used
    gain, pairs = plain(model)
    size = max(abs(gain), 1e-3)
    for found in (
        sj.solve(model),
        sj.exact.policy_iteration(model),
        direct_policy_iteration(model, model.pair_offsets[:-1]),
    ):
        assert found.gain == pytest.approx(gain, abs=2e-8 * size)
        assert found.lower - 1e-8 * size <= gain <= found.upper + 1e-8 * size
        assert found.upper - found.lower <= 1e-6 * size
        lower, upper = bounds(model, found.bias)
        assert lower <= found.upper
        assert upper >= found.lower
        assert sj.evaluate(model, found.policy).gain == pytest.approx(gain, abs=2e-8 * size)
    assert direct_policy_iteration(model, pairs).iterations <= 2  # nothing better is found


@pytest.mark.parametrize(
    ("power", "share"), [(1 / 3, 0.33705), (0.35, 0.37077), (0.4, 0.48863), (0.45, 0.66815)]
)
def test_selfish_mining_as_published(power: float, share: float) -> None:
    """Sapirshtein, Sompolinsky and Zohar (2016), table 1: the best share of settled blocks, with branches of up to 75."""
    found = sj.solve(structures.selfish_mining(75, power))
    assert found.model.num_states == 14_026
    assert found.gain == pytest.approx(share, abs=6e-6)
    assert found.upper - found.lower < 1e-9


def test_selfish_mining_that_everybody_follows() -> None:
    """If the rest always follows the attacker (gamma = 1), the share is a / (1 - a)."""
    for power in (0.1, 0.25, 0.35):
        found = sj.solve(structures.selfish_mining(40, power, followed=1.0))
        assert found.gain == pytest.approx(power / (1.0 - power), abs=1e-5)


def test_the_longest_run_without_time_is_computed_once() -> None:
    """It belongs to the model: the numbers are the same object in every call, and pairs without time lower them by 1/2."""
    model = structures.selfish_mining(20)
    steps = longest_timeless(model)
    assert steps is not None
    assert longest_timeless(model) is steps
    ahead = np.add.reduceat(model.probability * steps[model.successor], model.row_offsets[:-1])
    falls = steps[model.state_of_pair()] - ahead
    assert falls[model.duration == 0.0].min() >= 0.5


def test_threads_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """In threads, in one thread for sweeps of a policy and several for all pairs, and in one for all: the same solution."""
    model = structures.tandem(8)
    found = []
    for most in (0, model.num_rows - 1, model.num_rows):
        monkeypatch.setattr(operators, "_ROWS_FOR_THREADS", most)
        found.append(sj.exact.modified_policy_iteration(model, 1e-6).bias.tobytes())
    assert len(set(found)) == 1


def test_a_ring_is_answered_with_its_bounds() -> None:
    """Values of 1e7 leave no bounds of 1e-10 in floats; the answer says so, in `findings` and in no refusal."""
    model = structures.ring(10_001)
    found = sj.solve(model, 1e-11)
    assert found.is_coarse
    assert 1e-10 < found.upper - found.lower < 1e-7
    assert found.lower <= found.gain <= found.upper
    assert found.findings[0].startswith(f"the gain is known to within {found.upper - found.lower:.1g}; ")
    coarser = sj.solve(model)
    assert not coarser.is_coarse
    assert coarser.findings == ()
    assert coarser.gain == pytest.approx(found.gain, abs=1e-8)


def test_a_coarser_tolerance_is_not_slower() -> None:
    """With a coarser tolerance the bounds are as near as it asks, after fewer factorisations."""
    model = structures.job_classes(61)
    exact = sj.solve(model)
    assert exact.upper - exact.lower < 1e-6
    iterations = []
    for tolerance in (1e-1, 1e-3, 1e-8):
        found = direct_policy_iteration(model, model.pair_offsets[:-1], tolerance)
        assert found.lower <= exact.upper
        assert found.upper >= exact.lower
        assert found.upper - found.lower <= 100.0 * tolerance
        iterations.append(found.iterations)
    assert iterations == sorted(iterations)
    assert iterations[0] < iterations[-1]


def test_states_that_are_left_for_good() -> None:
    """A long way that leads into a queue: its states are solved in the same system as those that are met again."""
    last, way = 400, 300
    rows: list[Any] = []
    for k in range(last + 1):
        for a, up in ((0, 0.4), (1, 0.45)):
            rows += [
                (k, a, min(k + 1, last), up, 3.0 * a - 0.1 * k, 1.0),
                (k, a, max(k - 1, 0), 1.0 - up, 3.0 * a - 0.1 * k, 1.0),
            ]
    rows += [(last + s, 0, last + s - 1, 1.0, 7.0, 2.0) for s in range(1, way + 1)]
    model = from_transitions(rows)
    found = direct_policy_iteration(model, model.pair_offsets[:-1])
    alone = sj.solve(from_transitions(rows[: 4 * (last + 1)]))
    assert found.gain == pytest.approx(alone.gain, rel=1e-9)
    assert found.bias[last + way] - found.bias[last] == pytest.approx(
        way * (7.0 - 2.0 * found.gain), rel=1e-9
    )


def plain_total(model: SMDP, discount: float, end: int | None) -> Any:
    """Return the largest totals by policy iteration with dense matrices, from the definitions alone."""
    n, first, state = model.num_states, model.pair_offsets, model.state_of_pair()
    law = np.zeros((model.num_pairs, n))
    at = (np.repeat(np.arange(model.num_pairs), np.diff(model.row_offsets)), model.successor)
    np.add.at(law, at, model.probability)
    law *= np.exp(-discount * model.duration)[:, None]  # a duration without a law is constant
    reward = model.reward.copy()
    if end is not None:
        law[state == end], reward[state == end] = 0.0, 0.0
    values = np.zeros(n)
    for _ in range(3 * n):  # sweeps first, so that the policy comes to an end
        values = np.maximum.reduceat(reward + law @ values, first[:-1])
    while True:
        gained = reward + law @ values
        pairs = np.array([first[s] + np.argmax(gained[first[s] : first[s + 1]]) for s in range(n)])
        before, values = values, np.linalg.solve(np.eye(n) - law[pairs], reward[pairs])
        if np.abs(values - before).max() <= 1e-10 * np.abs(values).max():
            return values


@pytest.mark.parametrize(
    ("name", "discount", "end"),
    [
        ("two queues, load .65", 1e-4, None),
        ("two queues, load .98", 0.0, 0),
        ("two queues, load 1.2", 0.1, None),
        ("three queues in a row", 0.0, 0),
        ("polling", 1e-3, 0),
        ("two job classes", 0.0, 30),
        ("three machines", 1e-5, None),
        ("random", 0.05, None),
    ],
)
def test_totals_of_structures_against_plain_policy_iteration(
    name: str, discount: float, end: int | None
) -> None:
    """Totals of models of hundreds of states are those of dense policy iteration, within close bounds, after few policies."""
    model = SMALL[name]()
    expected = plain_total(model, discount, end)
    found = sj.solve(model, discount=discount or None, until=end)
    size = np.abs(expected).max()
    assert found.values == pytest.approx(expected, rel=1e-9, abs=1e-9 * size)
    assert (found.lower - 1e-10 * size <= expected).all()
    assert (expected <= found.upper + 1e-10 * size).all()
    assert (found.upper - found.lower).max() <= 1e-8 * size
    assert found.iterations <= 8  # with the sweeps between them; without them up to twenty
    worth = sj.evaluate(model, found.policy, discount=discount or None, until=end)
    assert worth.values == pytest.approx(expected, rel=1e-9, abs=1e-9 * size)


def test_a_total_that_floats_cannot_hold_is_refused() -> None:
    """An overloaded queue is empty again after 1e25 steps; that is said, and not that somebody earns for ever."""
    rows: list[Any] = []
    for k in range(600):
        rows += [(k, 0, min(k + 1, 599), 0.6, -float(k), 1.0), (k, 0, max(k - 1, 0), 0.4, -float(k), 1.0)]
        rows += [(k, 1, k, 1.0, -float(k) - 0.5, 1.0)]
    with pytest.raises(ValueError, match="floats cannot hold the totals of a policy, which takes too long"):
        sj.solve(from_transitions(rows), until=0)


def test_large_models_of_several_classes() -> None:
    """Two queues that never meet have a gain each; from a state that may go to either, the better one is chosen."""
    size = 350
    rows: list[Any] = [("start", "left", "0/0", 1.0, 0.0, 1.0), ("start", "right", "1/0", 1.0, 0.0, 1.0)]
    for place, pay in ((0, 1.0), (1, 2.0)):
        for k in range(size):
            rows += [
                (f"{place}/{k}", "serve", f"{place}/{min(k + 1, size - 1)}", 0.49, pay - k / size, 1.0),
                (f"{place}/{k}", "serve", f"{place}/{max(k - 1, 0)}", 0.51, pay - k / size, 1.0),
            ]
    found = sj.solve(from_transitions(rows))
    assert found.gains[0] == found.gains.max()
    assert found.gains.max() - found.gains.min() == pytest.approx(1.0, abs=1e-9)
    assert found.policy[0] == 1
    with pytest.raises(sj.exact.NotSolvedError, match="classes of states that a policy can stay in for ever"):
        direct_policy_iteration(found.model, found.model.pair_offsets[:-1])


def test_policies_of_several_classes_on_the_way() -> None:
    """A policy that stays in each of many states is led to the best of them before it is evaluated."""
    size = 400
    rows: list[Any] = [(s, 0, s, 1.0, float((7 * s) % size), 1.0) for s in range(size)]
    rows += [(s, 1, (s + 1) % size, 1.0, -1.0, 1.0) for s in range(size)]
    model = from_transitions(rows)
    found = direct_policy_iteration(model, model.pair_offsets[:-1])
    assert found.gain == pytest.approx(size - 1.0)
    assert sj.solve(model).gain == pytest.approx(size - 1.0)


def test_a_state_that_is_hardly_visited_is_not_left_out() -> None:
    """A queue of load 1.5 is nearly always full; that it starts empty costs no digits."""
    size = 600
    rows: list[Any] = []
    for k in range(size):
        rows += [(k, 0, min(k + 1, size - 1), 0.6, float(k), 1.0), (k, 0, max(k - 1, 0), 0.4, float(k), 1.0)]
    found = direct_policy_iteration(from_transitions(rows), np.arange(size))
    ratio = 0.4 / 0.6
    expected = size - 1.0 - ratio / (1.0 - ratio)  # the mean of a geometric number of free places
    assert found.gain == pytest.approx(expected, rel=1e-12)
    assert found.upper - found.lower < 1e-9


def test_the_estimate_tells_narrow_graphs_from_wide_ones() -> None:
    """Factors of a ring and of a grid are small; those of a random graph are not even tried."""
    ring, queues, wide = structures.ring(5001), structures.two_queues(71, 0.9), structures.random_model(5000)
    assert is_narrow(ring)
    assert is_narrow(queues)
    assert not is_narrow(wide)
    costs = [cost_in_sweeps(model, model.pair_offsets[:-1]) for model in (ring, queues, wide)]
    assert max(costs[:2]) < 10_000 < 100_000 < costs[2]
    star = sparse.csr_array((np.ones(5000), (np.arange(5000), np.zeros(5000, int))), shape=(5000, 5000))
    assert estimate(star).seconds < 0.1  # a full column is set aside


def test_no_clock_decides() -> None:
    """Two runs take the same steps to the same bits."""
    model = structures.polling(14)
    one, two = sj.solve(model), sj.solve(model)
    assert (one.iterations, one.solver, one.lower, one.upper) == (
        two.iterations,
        two.solver,
        two.lower,
        two.upper,
    )
    assert (one.bias == two.bias).all()


@pytest.mark.parametrize("name", ["two queues, load .98", "three machines", "ring", "selfish mining, .35"])
def test_a_coarser_model_shows_where_to_begin(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Huge models begin with the policy of a coarser one, which is a policy of theirs, and have the same gain."""
    make, options, sizes = structures.STRUCTURES[name]
    model = make(sizes[0], **options)
    begun, law = coarse_start(model, np.zeros(0, dtype=np.int64))
    assert law is not None
    assert law.min() >= 0.0
    assert ((begun >= model.pair_offsets[:-1]) & (begun < model.pair_offsets[1:])).all()
    expected = sj.solve(model)
    monkeypatch.setattr("sojourn.exact.solve._HUGE", 500)
    found = sj.solve(model)
    assert found.gain == pytest.approx(expected.gain, rel=1e-8)
    assert found.lower <= expected.upper
    assert expected.lower <= found.upper


def test_a_coarser_model_has_the_means_of_its_groups() -> None:
    """Every group has the actions of its states, and the mean of their rewards, durations and transitions."""
    model = structures.job_classes(9)
    found, group = coarser(model)
    assert np.bincount(group).max() == 2
    assert found.num_states < 0.6 * model.num_states
    state, coarse = model.state_of_pair(), found.state_of_pair()
    moves = np.zeros((model.num_pairs, found.num_states))
    np.add.at(
        moves,
        (np.repeat(np.arange(model.num_pairs), np.diff(model.row_offsets)), group[model.successor]),
        model.probability,
    )
    law = (
        found.probability,
        (np.repeat(np.arange(found.num_pairs), np.diff(found.row_offsets)), found.successor),
    )
    there = sparse.coo_array(law, shape=(found.num_pairs, found.num_states)).toarray()
    for pair in range(found.num_pairs):
        own = (group[state] == coarse[pair]) & (model.action == found.action[pair])
        assert own.sum() == np.count_nonzero(group == coarse[pair])
        assert found.reward[pair] == pytest.approx(model.reward[own].mean())
        assert found.duration[pair] == pytest.approx(model.duration[own].mean())
        assert there[pair] == pytest.approx(moves[own].mean(axis=0))
