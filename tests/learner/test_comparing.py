"""Rules compared with the same seeds, and the search over the parameters of a rule."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import sojourn as sj
from small_envs import Fleet, Maze
from sojourn.learner import comparing

pytestmark = pytest.mark.interpreted  # how agents are compiled is what other files are about


def queue() -> Any:
    """Naor's queue, whose best rule is to let in a job while fewer than three are there."""
    return sj.envs.make("sojourn/AdmissionControl-v0", {"capacity": 6, "compiled": False})


def test_a_comparison_is_the_paired_t_test() -> None:
    """The difference and its interval are those of SciPy's t test for related samples, the correlation NumPy's."""
    rates = np.asarray(np.random.default_rng(1).normal(size=(12, 2))) + np.arange(12.0)[:, np.newaxis]
    found, other = comparing.paired(rates, 0.9), stats.ttest_rel(rates[:, 0], rates[:, 1])
    sides = other.confidence_interval(0.9)
    assert found.difference == pytest.approx(rates[:, 0].mean() - rates[:, 1].mean())
    assert (found.low, found.high) == pytest.approx((sides.low, sides.high))
    assert found.correlation == pytest.approx(np.corrcoef(rates.T)[0, 1])
    assert (found.rate, found.other, found.seeds) == (*rates.mean(axis=0), 12)


def test_the_difference_of_two_rules_is_that_of_their_exact_gains() -> None:
    """The interval holds the difference of the exact gains; swapped rules differ by as much the other way."""
    learner, model = sj.Learner(queue), sj.problems.admission_control(capacity=6)
    exact = [sj.evaluate(model, [int(jobs < room) for jobs in range(7)]).gain for room in (3, 1)]
    few, one = (lambda jobs: jobs < 3), {jobs: int(jobs < 1) for jobs in range(7)}
    found = learner.compare(few, one, duration=800.0, seeds=10)
    assert found.low < exact[0] - exact[1] < found.high
    assert found.low > 0.0
    assert found.correlation > 0.3  # the common seeds help
    swapped = learner.compare(one, few, duration=800.0, seeds=range(1, 11))
    assert (swapped.difference, swapped.low) == (-found.difference, -found.high)
    assert learner.totals.steps == 0


def test_a_rule_is_a_function_a_table_a_saved_policy_or_a_learner(tmp_path: Path) -> None:
    """The same actions earn the same, however they are given, bit for bit."""
    learner = sj.Learner(queue, seed=3)
    learner.train(300)
    learner.write_policy(tmp_path / "learned.json")
    model = sj.problems.admission_control(capacity=6)
    sj.solve(model).write_policy(tmp_path / "solved.json")
    actions = learner.policy
    best = [int(jobs < 3) for jobs in range(7)]
    pairs: list[Any] = [
        (lambda jobs: int(actions[jobs]), None),
        (actions, learner),
        (dict(enumerate(actions.tolist())), sj.load_policy(tmp_path / "learned.json")),
        (sj.load_policy(tmp_path / "solved.json"), best),
    ]
    for one, other in pairs:
        found = learner.compare(one, other, duration=50.0, seeds=[5, 9])
        assert (found.difference, found.low, found.high) == (0.0, 0.0, 0.0)
        assert found.rate != 0.0


def test_a_saved_policy_gets_the_mask() -> None:
    """A policy that acts is asked for an action that the mask allows, so it is not refused; a rule that ignores it is."""
    learner, other = (sj.Learner(lambda: Maze("time"), "smart", seed=seed) for seed in (0, 1))
    for each in (learner, other):
        each.train(200)
    assert learner.compare(other, duration=100.0, seeds=2).seeds == 2
    with pytest.raises(AssertionError, match="action 1 is not allowed"):  # the maze's own words
        learner.compare(lambda _: 1, duration=100.0, seeds=2)


def test_a_search_finds_the_best_rule_and_measures_it_afresh() -> None:
    """The room that Naor's queue should have, 3, as a whole number or a real one; the fresh figure covers the exact gain."""
    learner = sj.Learner(queue)
    admit = lambda room: lambda jobs: jobs < room  # noqa: E731 - as a user writes it
    found = learner.search(admit, {"room": (0, 6)}, duration=300.0, seeds=8)
    assert found.parameters == {"room": 3}
    assert found.low < sj.solve(sj.problems.admission_control(capacity=6)).gain < found.high
    assert (found.learned, found.at_end, len(found.tried)) == (None, (), 7)
    again = learner.compare(found.policy, found.policy, duration=300.0, seeds=8)
    assert again.rate == found.rate  # the fresh seeds are those of `compare`
    learner.train(500)
    beside = learner.search(admit, {"room": (0.0, 1.0)}, duration=100.0, tries=4, seeds=4)
    assert beside.learned is not None
    assert beside.learned == learner.compare(beside.policy, duration=100.0, seeds=4)
    assert "the learned policy earns" in beside.sentence


def test_where_observations_cannot_be_listed() -> None:
    """A search in a fleet, by the wear above which a machine is mended, needs neither bins nor training."""

    def mend(above: float) -> Any:
        return lambda wear: int(wear.argmax()) + 1 if wear.max() > above else 0

    learner = sj.Learner(Fleet, "tile_q")
    found = learner.search(mend, {"above": (0.0, 1.0)}, duration=100.0, tries=8, seeds=4)
    assert learner.compare(found.policy, mend(0.95), duration=100.0, seeds=4).low > 0.0
    with pytest.raises(TypeError, match="it must be a function of the observation"):
        learner.compare([0, 1], mend(0.5), duration=10.0)


def test_all_candidates_meet_the_same_seeds_and_half_of_them_go_on() -> None:
    """Of 8 candidates 8, 4 and 2 are followed with 2, 4 and 8 seeds, then 4 around the winner; no seed twice."""
    runs: list[tuple[float, int]] = []

    def run(point: comparing.Parameters, seed: int) -> float:
        runs.append((point["x"], seed))
        return -((point["x"] - 0.7) ** 2)

    best, tried = comparing.searched(run, comparing.ranges({"x": (0.0, 1.0)}), 8, first_seed=50)
    assert abs(best["x"] - 0.7) < 0.06
    assert len(set(runs)) == len(runs)
    followed = {x: [seed for at, seed in runs if at == x] for x, _ in runs}
    assert all(seeds == list(range(50, 50 + len(seeds))) for seeds in followed.values())
    first = list(followed)[:8]
    assert sorted(len(followed[x]) for x in first) == [2, 2, 2, 2, 4, 4, 8, 8]
    assert tried[0].parameters == best
    assert len(runs) <= comparing.runs_of_search(8)


def test_the_best_of_noise_is_too_good_and_the_fresh_figure_is_not() -> None:
    """Where all rules earn 0 and the rest is noise, the winner's figure in the search is above 0 in most of 100 searches."""
    rng = np.random.default_rng(0)
    space = comparing.ranges({"x": (0.0, 1.0), "n": (0, 50)})
    won = [
        comparing.searched(lambda _point, _seed: float(rng.normal()), space, 16, seed)[1][0].rate
        for seed in range(100)
    ]
    assert np.mean(won) > 5.0 * np.std(won) / 10.0
    assert sum(rate > 0.0 for rate in won) > 75  # so it must not be the one that is reported


def test_candidates_fill_their_ranges() -> None:
    """Halton's points: each eighth of each range has a candidate; few whole numbers are all tried."""
    space = comparing.ranges({"x": (2.0, 4.0), "n": (10, 90)})
    points = space.candidates(32, np.array([0.3, 0.6]))
    assert len({tuple(point.values()) for point in points}) == 32
    assert {int((point["x"] - 2.0) * 4.0) for point in points} == set(range(8))
    assert {int((point["n"] - 10) // 10.2) for point in points} == set(range(8))
    assert all(isinstance(point["n"], int) for point in points)
    grid = comparing.ranges({"a": (0, 3), "b": (5, 6)}).candidates(8, np.zeros(2))
    assert [tuple(point.values()) for point in grid] == list(itertools.product(range(4), (5, 6)))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda it: it.compare(7, duration=9.0), "the rule is 7; give a function of the observation"),
        (lambda it: it.compare([1], duration=9.0), "the rule has 1 actions, but there are 7 states"),
        (lambda it: it.compare(lambda _: 5, duration=9.0), "the rule's action is 5"),
        (
            lambda it: it.compare(lambda _: "go", duration=9.0),
            "the rule's action is 'go'; it must be one of 0 to",
        ),
        (lambda it: it.compare(lambda _: 0, duration=9.0, seeds=1), "needs at least 2 seeds"),
        (lambda it: it.compare(lambda _: 0, duration=9.0, seeds=[3, 3]), "each seed must be there once"),
        (lambda it: it.search(lambda: 0, {}, duration=9.0), "give the ends of 1 to 6 ranges by name"),
        (lambda it: it.search(lambda x: 0, {"x": 3}, duration=9.0), "the range of x is 3; give its two ends"),
        (lambda it: it.search(lambda x: 0, {"x": (3, 3)}, duration=9.0), "its first end must be below"),
    ],
)
def test_what_cannot_be_compared_gets_a_sentence(call: Any, sentence: str) -> None:
    """A wrong rule, wrong seeds and wrong ranges are told in one sentence."""
    with pytest.raises((TypeError, ValueError), match=sentence):
        call(sj.Learner(queue))
