from __future__ import annotations

import json
import math
import os
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats

import sojourn as sj
from sojourn.models import (
    SMDP,
    Option,
    end_components,
    findings,
    from_arrays,
    from_matrices,
    from_options,
    from_table,
    from_transitions,
    laws,
    load_model,
    primitive,
    save_model,
)
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
from sojourn.models.model_files import parse_model
from sojourn.rules.kernel import kernel
from sojourn.worlds.tabular import sampled

PARTS: dict[str, Any] = {
    "pair_offsets": [0, 2, 3],
    "row_offsets": [0, 1, 3, 4],
    "successor": [1, 0, 1, 0],
    "probability": [1.0, 0.5, 0.5, 1.0],
    "reward": [1.0, 2.0, 0.0],
    "duration": [1.0, 3.0, 1.0],
}
WORDS: list[Any] = ["x"]
NAMES: dict[str, Any] = {"state_names": ["idle", "busy"], "action_names": ["wait", "work"]}


# --- Refusals -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"pair_offsets": [1, 2, 3]}, "pair_offsets does not ascend from 0; give where each part begins, and the end"),
        ({"row_offsets": [0, 3, 1, 4]}, "row_offsets does not ascend from 0; give where each part begins"),
        ({"pair_offsets": [0, 2, 4]}, "pair_offsets ends at 4, but row_offsets is for 3 pairs"),
        ({"successor": [1, 0, 1]}, "successor has 3 entries, but row_offsets ends at 4"),
        ({"probability": [1.0] * 5}, "probability has 5 entries, but row_offsets ends at 4"),
        ({"pair_offsets": [0, 3, 3]}, "state 1 has no action; every state needs at least one"),
        ({"pair_offsets": [0, 3, 3], **NAMES}, r"state 1 \(busy\) has no action; every state needs at least one"),
        ({"row_offsets": [0, 1, 1, 4]}, "state 0, action 1 leads nowhere; give it at least one successor"),
        ({"successor": [1, 0, 2, 0]}, "state 0, action 1 leads to state 2; states are 0 to 1"),
        ({"successor": [-1, 0, 1, 0]}, "state 0, action 0 leads to state -1; states are 0 to 1"),
        ({"probability": [1.0, 1.5, -0.5, 1.0], **NAMES}, r"state 0 \(idle\), action 1 \(work\) leads to state 1 with probability -0.5; it must be at least 0"),
        ({"probability": [1.0, np.nan, 0.5, 1.0]}, "state 0, action 1 leads to state 0 with probability nan"),
        ({"probability": [1.0, 0.5, 0.4, 1.0], **NAMES}, r"the probabilities of state 0 \(idle\), action 1 \(work\) sum to 0.9; they must sum to 1 within 1e-08"),
        ({"probability": [1.0, np.inf, 0.4, 1.0]}, "the probabilities of state 0, action 1 sum to inf"),
        ({"duration": [1.0, -1.0, 1.0]}, "the duration of state 0, action 1 is -1.0; it must be finite and at least 0"),
        ({"duration": [1.0, 1.0, -2.0], **NAMES}, r"the duration of state 1 \(busy\), action 0 \(wait\) is -2.0; it must be"),
        ({"duration": [0.0, 1.0, 0.0], **NAMES}, r"a policy can stay in \{idle, busy\} for ever without time passing"),
        ({"duration": [1.0, np.inf, 1.0]}, "the duration of state 0, action 1 is inf; it must be finite"),
        ({"duration": [1.0, np.nan, 1.0]}, "the duration of state 0, action 1 is nan; it must be finite"),
        ({"reward": [1.0, np.inf, 1.0]}, "the reward of state 0, action 1 is inf; it must be finite"),
        ({"reward": [1.0, 1.0]}, "reward has the length 2; it must be 3, the number of pairs"),
        ({"reward": None}, "there is no reward; give the mean reward of each pair"),
        ({"duration": None, "row_duration": [1.0, -1.0, 1.0, 1.0]}, "the duration of state 0, action 1 is -1.0; it must"),
        ({"row_reward": [1.0]}, "row_reward has the length 1; it must be 4, the number of rows"),
        ({"row_reward": [1.0, 2.0, 3.0, 0.0]}, "the mean reward of state 0, action 1 is given as 2, but its law has the mean 2.5"),
        ({"duration_law": laws.flat([1.0, Exponential(2.0), 1.0])}, "the mean duration of state 0, action 1 is given as 3, but its law has the mean 2"),
        ({"duration": None, "duration_law": laws.flat([1.0, Uniform(-1.0, 2.0), 1.0])}, r"the duration of state 0, action 1 has the law Uniform\(low=-1.0, high=2.0\); it must give no number below 0"),
        ({"reward_law": laws.flat([1.0])}, "reward_law has the length 1; it must be 3, the number of pairs, or 4, the number of rows"),
        ({"state_names": ["idle"]}, "state_names has the length 1; it must be 2, the number of states"),
        ({"action_names": ["a", "a"]}, "action_names has 'a' twice; names must differ"),
        ({"action": [0, 1]}, "action has the length 2; it must be 3, the number of pairs"),
        ({"action": [1, 0, 0]}, "the actions of state 0 do not ascend; number them from 0 and name each once"),
        ({"action": [0, 1, -1]}, "the actions of state 1 do not ascend; number them from 0"),
        ({"successor": [2**40, 0, 1, 0]}, "successor has the entry 1099511627776; it must be less than 2.31"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_model(changes: dict[str, Any], sentence: str) -> None:
    """Each flaw is refused in one sentence that names the place."""
    with pytest.raises(ValueError, match=sentence):
        SMDP(**{**PARTS, **changes})


def test_arrays_must_be_arrays() -> None:
    """What is not a flat sequence of numbers of the right kind is refused by its name."""
    with pytest.raises(TypeError, match="probability must be a flat sequence of numbers"):
        SMDP(**{**PARTS, "probability": [[1.0]]})
    with pytest.raises(TypeError, match="successor must be whole numbers"):
        SMDP(**{**PARTS, "successor": [1.0, 0.0, 1.0, 0.0]})


# --- What a model holds -------------------------------------------------------------------


def test_places_and_sizes() -> None:
    """A model knows its sizes, finds pairs, and cannot be written into."""
    model = SMDP(**PARTS, **NAMES)
    assert (model.num_states, model.num_pairs, model.num_rows, model.num_actions) == (2, 3, 4, 2)
    assert model.pair(0, 1) == 1
    assert model.pair_table().tolist() == [[0, 1], [2, -1]]
    with pytest.raises(ValueError, match=r"state 1 \(busy\) has no action 1; it has 0"):
        model.pair(1, 1)
    with pytest.raises(ValueError, match="read-only"):
        model.probability[0] = 0.5


def test_sums_are_mended_within_the_tolerance() -> None:
    """Probabilities that sum to 1 but for 1e-9 are scaled; what sums to 1 is left alone."""
    model = SMDP(**{**PARTS, "probability": [1.0, 0.5, 0.5 + 1e-9, 1.0]})
    assert model.probability[1:3].sum() == pytest.approx(1.0, abs=1e-15)
    assert model.probability[[0, 3]].tolist() == [1.0, 1.0]


def test_impossible_rows_are_dropped() -> None:
    """A row of probability 0 is no row, and its reward and duration do not matter."""
    model = SMDP(
        pair_offsets=[0, 1, 2],
        row_offsets=[0, 2, 4],
        successor=[0, 1, 0, 1],
        probability=[0.0, 1.0, 1.0, 0.0],
        row_reward=[9.0, 1.0, 2.0, 9.0],
        duration_law=laws.flat([0.0, 1.0, Exponential(2.0), -1.0]),
    )
    assert model.num_rows == 2
    assert model.reward.tolist() == [1.0, 2.0]
    assert model.duration.tolist() == [1.0, 2.0]


def test_laws_of_pairs_and_rows() -> None:
    """Where a reward depends on the row, laws of both are told by rows; else by pairs."""
    model = SMDP(**PARTS).with_laws(duration=Exponential)
    reward, duration, by_rows = model.flat_laws()
    assert not by_rows
    assert reward.law(1) == laws.Constant(2.0)
    assert duration.law(1) == Exponential(3.0)
    model = SMDP(**{**PARTS, "reward": None}, row_reward=[1.0, 5.0, -1.0, 0.0]).with_laws(
        duration=Exponential
    )
    reward, duration, by_rows = model.flat_laws()
    assert by_rows
    assert [reward.law(row).value for row in range(4)] == [1.0, 5.0, -1.0, 0.0]  # type: ignore[union-attr]
    assert [duration.law(row).mean for row in range(4)] == [1.0, 3.0, 3.0, 1.0]  # type: ignore[union-attr]
    model = model.with_laws(reward=[1.0, TwoPoint(0.0, 4.0, 0.5), 7.0])
    assert model.reward.tolist() == [1.0, 2.0, 7.0]


# --- Laws ---------------------------------------------------------------------------------

LAWS: list[tuple[Any, Any]] = [
    (laws.Constant(2.0), None),
    (Exponential(3.0), stats.expon(scale=3.0)),
    (Gamma(2.5, 2.0), stats.gamma(2.5, scale=2.0)),
    (Gamma(0.4, 1.0), stats.gamma(0.4)),
    (Uniform(1.0, 4.0), stats.uniform(1.0, 3.0)),
    (FlooredNormal(1.0, 2.0, 0.5), None),
    (TwoPoint(1.0, 5.0, 0.25), None),
    (Weibull(1.7, 2.0), stats.weibull_min(1.7, scale=2.0)),
    (Weibull(0.6, 1.0), stats.weibull_min(0.6)),
    (Lognormal(3.0, 0.8), stats.lognorm(0.8, scale=3.0)),
]


@kernel
def _draws(kind: int, a: float, b: float, c: float, rng: Any, out: Any) -> None:
    for index in range(len(out)):
        out[index] = sampled(kind, a, b, c, rng)


@pytest.mark.parametrize(("law", "reference"), LAWS, ids=lambda law: type(law).__name__)
def test_draws_have_the_law(law: Any, reference: Any) -> None:
    """Draws have the stated mean and, where SciPy knows it, the law; compiled and in Python they are the same bits."""
    flat = laws.flat([law])
    kind, (a, b, c) = int(flat.kind[0]), flat.parameters[0].tolist()
    draws, few = np.empty(100_000), np.empty(200)
    _draws(kind, a, b, c, sj.stream(1), draws)
    _draws.python(kind, a, b, c, sj.stream(1), few)
    assert draws[:200].tolist() == few.tolist()
    error = draws.std() / np.sqrt(len(draws))
    assert draws.mean() == pytest.approx(laws.mean(law), abs=4.0 * error + 1e-12)
    if reference is not None:
        assert stats.kstest(draws, reference.cdf).pvalue > 1e-3


def test_laws_that_are_none() -> None:
    """Parameters that make no law are refused, and so is what is neither number nor law."""
    with pytest.raises(ValueError, match=r"Exponential.mean is 0; it must not be"):
        Exponential(0.0)
    with pytest.raises(ValueError, match=r"Gamma.shape is -1.0; it must be finite and greater than 0"):
        Gamma(-1.0, 1.0)
    with pytest.raises(
        TypeError, match=r"the law at place 0 is 'x'; it must be a number or a law of sojourn.models.laws"
    ):
        laws.flat(WORDS)


def test_a_floored_normal_has_a_higher_mean() -> None:
    """The floor lifts the mean: for N(0, 1) floored at 0 it is 1 / sqrt(2 pi)."""
    assert laws.mean(FlooredNormal(0.0, 1.0, 0.0)) == pytest.approx(1.0 / np.sqrt(2.0 * np.pi))


# --- Ways to make one ---------------------------------------------------------------------


def _tables(rng: Any) -> tuple[Any, Any, Any]:
    table = rng.random((4, 2, 4)) * (rng.random((4, 2, 4)) < 0.6)
    table[:, :, 0] += 0.1
    return (
        table / table.sum(axis=2, keepdims=True),
        rng.normal(size=table.shape),
        rng.random(table.shape) + 0.5,
    )


def test_all_ways_make_the_same_model() -> None:
    """Arrays, matrices dense and sparse, and a list of transitions in any order make one model."""
    rng = np.random.default_rng(0)
    table, rewards, durations = _tables(rng)
    by_action = [np.moveaxis(each, 1, 0) for each in (table, rewards, durations)]
    rows: list[Any] = [
        (s, a, t, table[s, a, t], rewards[s, a, t], durations[s, a, t])
        for s, a, t in np.ndindex(*table.shape)
        if table[s, a, t]
    ]
    shuffled = sorted(rows, key=lambda row: (row[1], -row[0], row[2]))
    models = [
        from_arrays(table, rewards, durations),
        from_matrices(*by_action),
        from_matrices(*[[sparse.csr_array(matrix) for matrix in each] for each in by_action]),
        from_matrices(*[[sparse.coo_matrix(matrix) for matrix in each] for each in by_action]),
        from_transitions(shuffled),
    ]
    for model in models:
        for name in (
            "pair_offsets",
            "action",
            "row_offsets",
            "successor",
            "probability",
            "reward",
            "duration",
        ):
            assert getattr(model, name).tolist() == pytest.approx(
                getattr(models[0], name).tolist(), abs=1e-14
            )
    assert models[0].reward == pytest.approx((table * rewards).sum(axis=2).ravel())
    by_pair = from_arrays(table, (table * rewards).sum(axis=2), 2.0)
    assert by_pair.reward == pytest.approx(models[0].reward)
    assert set(by_pair.duration.tolist()) == {2.0}


def test_actions_that_are_not_available() -> None:
    """A state has the actions that `available` says, under their own numbers."""
    table = np.full((2, 2, 2), 0.5)
    model = from_arrays(table, 1.0, available=[[True, False], [False, True]])
    assert model.action.tolist() == [0, 1]
    assert model.pair_table().tolist() == [[0, -1], [-1, 1]]


def test_outcomes_are_rows() -> None:
    """A joint law of reward and duration becomes one row for each outcome, with the right means."""
    model = from_transitions([(0, 0, 0, 1.0, Outcomes([(0.5, 1.0, 1.0), (0.5, -1.0, 2.0)]))])
    assert model.row_reward is not None
    assert model.row_duration is not None
    assert (model.row_reward.tolist(), model.row_duration.tolist()) == ([1.0, -1.0], [1.0, 2.0])
    assert (model.reward[0], model.duration[0]) == (0.0, 1.5)


def test_gymnasium_tables() -> None:
    """Gymnasium's FrozenLake becomes a model; what ends goes on at the start."""
    import gymnasium

    env: Any = gymnasium.make("FrozenLake-v1", is_slippery=True).unwrapped
    model = from_table(env.P, durations=1.0, start=env.initial_state_distrib)
    assert (model.num_states, model.num_pairs) == (16, 64)
    found = sj.solve(model)
    worth = sj.evaluate(model, found.policy)
    assert 0.0 < found.gain < 0.1
    assert worth.gain == pytest.approx(found.gain)
    with pytest.raises(
        ValueError, match=r"state 1, action 0 ends an episode in state 5; say with start=... where"
    ):
        from_table({**env.P, 0: {a: [(1.0, 1, 0.0, False)] for a in range(4)}, 1: {0: [(1.0, 5, 0.0, True)]}})


def test_gymnasium_tables_by_hand() -> None:
    """Durations by state and action, a start by probabilities, and names."""
    table = {0: {0: [(1.0, 1, 1.0, False)]}, 1: {0: [(0.5, 1, 2.0, True), (0.5, 1, 0.0, False)]}}
    model = from_table(table, [[1.0], [3.0]], start=[0.5, 0.5], state_names=["a", "b"])
    assert model.successor.tolist() == [1, 0, 1, 1]
    assert model.probability.tolist() == [1.0, 0.25, 0.25, 0.5]
    assert model.duration.tolist() == [1.0, 3.0]
    assert model.reward.tolist() == [1.0, 1.0]
    assert model.state_names == ("a", "b")


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: from_arrays(np.ones((2, 2)), 1.0), r"transitions has the shape \(2, 2\); it must be \(states, actions, states\)"),
        (lambda: from_arrays(np.ones((1, 1, 1)), [1.0, 2.0]), r"rewards has the shape \(2,\); it must be one number, \(1, 1\) or \(1, 1, 1\)"),
        (lambda: from_arrays(np.ones((1, 1, 1)), 1.0, available=[True]), r"available has the shape \(1,\); it must be \(1, 1\)"),
        (lambda: from_arrays(np.zeros((1, 1, 1)), 1.0), "the probabilities of state 0, action 0 sum to 0; they must sum to 1"),
        (lambda: from_arrays([["x"]], 1.0), r"transitions is \[\['x'\]\]; it must be an array of numbers"),
        (lambda: from_matrices([], 1.0), "transitions has no matrix; give one for each action"),
        (lambda: from_matrices([np.eye(2), np.eye(3)], 1.0), r"transitions\[1\] has the shape \(3, 3\); it must be \(2, 2\)"),
        (lambda: from_matrices([np.eye(2)], [[1.0]]), r"rewards has the shape \(1, 1\); it must be one number, \(2, 1\) or 1 matrices"),
        (lambda: from_matrices([np.eye(2)], [np.eye(2), np.eye(2)]), "the number of matrices in rewards is 2; it must be 1, the number of actions"),
        (lambda: from_matrices([np.eye(2)], [np.eye(3)]), r"rewards\[0\] has the shape \(3, 3\); it must be \(2, 2\)"),
        (lambda: from_transitions([]), "there are no transitions; give at least one"),
        (lambda: from_transitions([(0, 0, 0, 1.0, *WORDS[:0])]), r"transition 0 is \(0, 0, 0, 1.0\); it must be \(s, a, s', probability, reward, duration\)"),
        (lambda: from_transitions([(0, 0, 0, 1.0, Outcomes([(0.5, 1.0, 1.0)]))]), r"the outcomes of \(0, 0, 0\) have probabilities that sum to 0.5; they must sum to 1"),
        (lambda: from_transitions([("a", 0, "b", 1.0, 1.0, 1.0)], state_names=["a"]), "state 'b' is not one of a"),
        (lambda: from_transitions([(0, 0, 2, 1.0, 1.0, 1.0)], state_names=["a"]), "state 2 is not one of 0 to 0"),
        (lambda: from_transitions([(0, 0, 1, 1.0, 1.0, 1.0)]), "state 1 has no action; every state needs at least one"),
        (lambda: from_transitions([(0, 0, 0, 1.0, WORDS[0], 1.0)]), r"the reward of \(0, 0, 0\) is 'x'; it must be a number or a law"),
        (lambda: from_table({0: {0: [(1.0, 0, 0.0, True)]}}, start=[0.5]), "start must be a state, or 1 probabilities that sum to 1"),
        (lambda: from_table({0: {0: [(1.0, 0, 0.0, True)]}}, start=3), "start is 3; it must be one of 0 to 0"),
        (lambda: from_table({0: {0: [(1.0, 0, 0.0, False)]}, 2: {0: [(1.0, 0, 0.0, False)]}}), "state 1 has no action"),
    ],
)  # fmt: skip
def test_what_no_model_can_be_made_of(make: Any, sentence: str) -> None:
    """Input of the wrong shape is refused in one sentence."""
    with pytest.raises((TypeError, ValueError), match=sentence):
        make()


# --- Files --------------------------------------------------------------------------------


def _machine() -> SMDP:
    return from_transitions(
        [
            ("up", "run", "up", 0.9, 5.0, Gamma(2.0, 0.5)),
            ("up", "run", "down now", 0.1, 5.0, Gamma(2.0, 0.5)),
            ("up", "mend", "up", 1.0, -1.0, 0.25),
            ("down now", "mend", "up", 1.0, Outcomes([(0.5, -1.0, 1.0), (0.5, -4.0, 2.0)])),
        ]
    )


@pytest.mark.parametrize("suffix", [".toml", ".json"])
def test_files_keep_everything(tmp_path: Path, suffix: str) -> None:
    """What is written is read again, number for number and law for law."""
    unnamed = from_arrays([[[0.25, 0.75]], [[1.0, 0.0]]], rewards=[[1.0], [1.0 / 3.0]])
    for model in (_machine(), unnamed, unnamed.with_laws(duration=lambda mean: Uniform(0.0, 2.0 * mean))):
        save_model(model, tmp_path / f"model{suffix}")
        again = load_model(tmp_path / f"model{suffix}")
        for name in (
            "pair_offsets",
            "action",
            "row_offsets",
            "successor",
            "probability",
            "reward",
            "duration",
        ):
            assert getattr(again, name).tolist() == getattr(model, name).tolist()
        assert (again.state_names, again.action_names) == (model.state_names, model.action_names)
        laws_of = [[each.flat_laws()[k] for k in (0, 1)] for each in (model, again)]
        for one, other in zip(*laws_of, strict=True):
            rows = model.num_rows if len(other) != len(one) else len(one)
            if rows == len(one):
                assert one.kind.tolist() == other.kind.tolist()
                assert one.parameters.tolist() == other.parameters.tolist()


def test_the_documented_file_is_a_model() -> None:
    """The example in the documentation of files is a whole model."""
    from sojourn.models import model_files

    assert model_files.__doc__ is not None
    text = "\n".join(
        line.strip()
        for line in model_files.__doc__.split("action:\n")[1].split("`states` and")[0].splitlines()
    )
    model = parse_model(tomllib.loads(text))
    assert model.duration.tolist() == [1.0, 1.5]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"states": None}, "the file has the key 'colour'; the keys are actions, pairs, states"),
        ({"pairs": [{"state": 0}]}, "pair 0 has no action"),
        ({"pairs": 3}, "pairs is 3; it must be a list of tables"),
        ({"pairs": [5]}, "pair 0 is 5; it must be a table"),
        (
            {"pairs": [{"state": 0, "action": 0, "reward": 1.0, "next": 0}]},
            "next of pair 0 is 0; it must be a table of probabilities",
        ),
        (
            {"pairs": [{"state": 0, "action": 0, "reward": 1.0, "outcomes": 0}]},
            "outcomes of pair 0 is 0; it must be a list of tables",
        ),
        ({"pairs": [{"state": 0, "action": 0, "reward": 1.0}]}, "pair 0 must have either next or outcomes"),
        ({"pairs": [{"state": 0, "action": 0, "next": {"0": 1.0}}]}, "pair 0 has no reward"),
        ({"pairs": [{"state": 0, "action": 0, "reward": 1.0, "next": {"0": 1.0}}]}, "pair 0 has no duration; give the pair or each"),
        ({"pairs": [{"state": 0, "action": 0, "reward": 1.0, "outcomes": [{"next": 0}]}]}, "an outcome of pair 0 has no probability"),
        ({"pairs": [{"state": 0, "action": 0, "reward": {"law": "x"}, "duration": 1.0, "next": {"0": 1.0}}]}, "reward of pair 0 has the law 'x'; the laws are constant, exponential, gamma, uniform, floored_normal, two_point, weibull, lognormal, empirical"),
        ({"pairs": [{"state": 0, "action": 0, "reward": {"law": "gamma"}, "duration": 1.0, "next": {"0": 1.0}}]}, "reward of pair 0 has the law gamma, which needs shape and scale, or mean and deviation"),
        ({"states": 3}, "the file says that there are 3 states, but its pairs have 1"),
    ],
)  # fmt: skip
def test_files_that_are_no_models(tmp_path: Path, change: dict[str, Any], sentence: str) -> None:
    """A file that is no model is refused with its name and what is wrong."""
    good: dict[str, Any] = {
        "states": 1,
        "actions": 1,
        "pairs": [{"state": 0, "action": 0, "reward": 1.0, "duration": 2.0, "next": {"0": 1.0}}],
    }
    assert parse_model(good).duration.tolist() == [2.0]
    content = {**good, "colour": "red"} if change.get("states", 0) is None else {**good, **change}
    path = tmp_path / "model.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises((TypeError, ValueError), match=f"model.json: {sentence}"):
        load_model(path)


def test_files_that_are_not_even_text_of_the_kind(tmp_path: Path) -> None:
    """A file that cannot be parsed is refused with its name and place."""
    (tmp_path / "a.toml").write_text("states = [", encoding="utf-8")
    (tmp_path / "a.json").write_text("{", encoding="utf-8")
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"b.toml is not TOML: "):
        load_model(tmp_path / "b.toml")
    with pytest.raises(ValueError, match=r"a.toml is not a TOML file: "):
        load_model(tmp_path / "a.toml")
    with pytest.raises(ValueError, match=r"a.json is damaged: "):
        load_model(tmp_path / "a.json")


# --- Structure ----------------------------------------------------------------------------


def test_findings() -> None:
    """A model that can be kept going everywhere has no findings; passing and absorbing parts are named."""
    assert findings(_machine()) == ()
    model = from_transitions(
        [("a", 0, "b", 1.0, 0.0, 1.0), ("b", 0, "c", 1.0, 0.0, 1.0), ("c", 0, "c", 1.0, 0.0, 1.0)]
    )
    assert findings(model) == (
        "state 2 (c) is absorbing: no action leaves it",
        "every policy leaves {a, b} for good",
    )
    assert [part.tolist() for part in end_components(model)] == [[2]]


# --- Options ------------------------------------------------------------------------------


def _options_by_steps(model: SMDP, option: Option, start: int, steps: int) -> tuple[float, float, Any]:
    """Reward, duration and end of an option, by following all its paths for some steps."""
    policy = np.asarray(option.policy, dtype=np.float64)
    stop = np.broadcast_to(np.asarray(option.termination), model.num_states)
    going = np.zeros(model.num_states)
    going[start] = 1.0
    ended, reward, duration = np.zeros(model.num_states), 0.0, 0.0
    for _ in range(steps):
        arrived = np.zeros(model.num_states)
        for state in np.flatnonzero(going).tolist():
            for action in np.flatnonzero(policy[state]).tolist():
                pair, weight = model.pair(state, action), going[state] * policy[state, action]
                reward += weight * model.reward[pair]
                duration += weight * model.duration[pair]
                for row in range(model.row_offsets[pair], model.row_offsets[pair + 1]):
                    arrived[model.successor[row]] += weight * model.probability[row]
        ended += arrived * stop
        going = arrived * (1.0 - stop)
    return reward, duration, ended


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_options_are_what_following_them_gives(seed: int) -> None:
    """Reward, duration and end of random options are those found by following every path for long."""
    rng = np.random.default_rng(seed)
    table, rewards, durations = _tables(rng)
    model = from_arrays(table, rewards, durations)
    policy = rng.random((4, 2))
    option = Option(policy / policy.sum(axis=1, keepdims=True), rng.uniform(0.2, 1.0, 4))
    whole = from_options(model, [option, primitive(model, 1)])
    for state in range(4):
        reward, duration, ended = _options_by_steps(model, option, state, 200)
        pair = whole.pair(state, 0)
        rows = slice(whole.row_offsets[pair], whole.row_offsets[pair + 1])
        law = np.zeros(4)
        law[whole.successor[rows]] = whole.probability[rows]
        assert whole.reward[pair] == pytest.approx(reward, abs=1e-10)
        assert whole.duration[pair] == pytest.approx(duration, abs=1e-10)
        assert law == pytest.approx(ended, abs=1e-10)
        assert whole.duration[whole.pair(state, 1)] == pytest.approx(model.duration[model.pair(state, 1)])


def test_primitive_options_are_the_model() -> None:
    """With every action as an option that ends at once, the gain is that of the model."""
    model = from_arrays(*_tables(np.random.default_rng(3)))
    same = from_options(model, [primitive(model, action) for action in range(2)])
    assert sj.solve(same).gain == pytest.approx(sj.solve(model).gain, abs=1e-12)


def test_an_option_for_ever_is_its_policy() -> None:
    """The gain of taking one option again and again is that of its policy in the model."""
    model = from_arrays(*_tables(np.random.default_rng(4)))
    whole = from_options(model, [Option([0, 1, 1, 0], 0.3)])
    assert sj.solve(whole).gain == pytest.approx(sj.evaluate(model, [0, 1, 1, 0]).gain, abs=1e-12)


def test_initiation_sets() -> None:
    """A state has the options that can begin there, under their own numbers and names."""
    corridor = from_arrays([[[0, 1, 0]], [[0, 0, 1]], [[1, 0, 0]]], rewards=1.0)
    far = Option([0, 0, -1], [0.0, 0.0, 1.0], np.array([True, False, False]), "far")
    whole = from_options(corridor, [primitive(corridor, 0)._replace(name="step"), far])
    assert whole.pair_table().tolist() == [[0, 1], [2, -1], [3, -1]]
    assert whole.duration.tolist() == [1.0, 2.0, 1.0, 1.0]
    assert whole.action_names == ("step", "far")


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        (Option([0, 0, 0], [0.0, 0.0, 0.0], name="stay"), r"option 0 \(stay\) never ends once it is in state 0; let it end in a state that it can reach"),
        (Option([0, -1, 0], [0.0, 0.0, 1.0]), "option 0 comes to state 1, where its policy has no action"),
        (Option([0, 7, 0], 1.0), "option 0: state 1 has no action 7; it has 0"),
        (Option([0, 0], 1.0), r"option 0: policy has the shape \(2,\)"),
        (Option([0, 0, 0], [0.5, 2.0, 1.0]), "the termination of option 0 must be a probability, or one for each of 3 states"),
        (Option([0, 0, 0], 1.0, [False, False, False]), "the initiation of option 0 must be true or false for each of 3 states, and true for at least one"),
    ],
)  # fmt: skip
def test_options_that_are_none(option: Option, sentence: str) -> None:
    """An option that never ends, or has no action where it comes, is refused with the place."""
    corridor = from_arrays([[[0, 1, 0]], [[0, 0, 1]], [[1, 0, 0]]], rewards=1.0)
    with pytest.raises(ValueError, match=sentence):
        from_options(corridor, [option])
    with pytest.raises(ValueError, match="there are no options; give at least one"):
        from_options(corridor, [])


def test_a_rate_beyond_the_floats_is_refused() -> None:
    """A reward and a duration may each be a number and their ratio none; the sentence names the place."""
    with pytest.raises(
        ValueError, match=r"state 0, action 0 is 1e\+308 in a duration of 1e-308; a reward per unit"
    ):
        from_transitions([(0, 0, 0, 1.0, 1e308, 1e-308)])


def test_a_model_is_saved_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the disk is full, the file that was there is still there, and nothing else."""
    path = tmp_path / "model.toml"
    path.write_text("before")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"model\.toml could not be written: No space left"):
        save_model(from_transitions([(0, 0, 0, 1.0, 1.0, 1.0)]), path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


# --- Rates ----------------------------------------------------------------------------------------


def test_a_queue_from_its_rates() -> None:
    """A queue of at most 3 made of rates has the gain of its birth-death law: p(n) in proportion to (4/5)^n."""
    arrive, serve, room = 0.8, 1.0, 3
    rates: list[Any] = [(n, 0, n + 1, arrive) for n in range(room)]
    rates += [(n, 0, n - 1, serve, 7.0) for n in range(1, room + 1)]
    model = sj.models.from_rates(rates, earning={(n, 0): -float(n) for n in range(room + 1)})
    law = np.array([0.8**n for n in range(room + 1)]) / sum(0.8**n for n in range(room + 1))
    expected = 7.0 * serve * (1.0 - law[0]) - law @ np.arange(room + 1)
    assert sj.solve(model).gain == pytest.approx(expected, rel=1e-12)
    assert model.duration_law is not None
    assert model.duration_law.law(0) == Exponential(1.25)


@pytest.mark.parametrize(
    ("rates", "earning", "sentence"),
    [
        ([(0, 0, 0, 0.0)], None, r"the rate of \(0, 0, 0\) is 0.0; it must be finite and greater than 0"),
        ([(0, 0, 1)], None, r"rate 0 is \(0, 0, 1\); it must be \(s, a, s', rate\)"),
        ([(0, 0, 0, 1.0)], {(1, 0): 2.0}, r"earning names the pair \(1, 0\), which has no rates"),
        ([(0, 0, 0, 1.0)], {(0, 0): math.nan}, r"what \(0, 0\) earns is nan; it must be a finite number"),
    ],
)
def test_rates_that_are_none(rates: Any, earning: Any, sentence: str) -> None:
    """A wrong rate, row or earning is refused with its place."""
    with pytest.raises(ValueError, match=sentence):
        sj.models.from_rates(rates, earning=earning)
