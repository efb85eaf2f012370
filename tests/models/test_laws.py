"""Laws as people have them: by mean and standard deviation, and as samples."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import sojourn as sj
from sojourn.models import load_model, save_model
from sojourn.models.laws import Empirical, Gamma, Lognormal, Outcomes, Uniform, Weibull, mean
from sojourn.models.model_files import parse_model
from sojourn.rules.kernel import kernel

WORDS: list[Any] = ["x"]
SAMPLES: Any = [Empirical([1.0])]
SCIPY: dict[Any, Any] = {
    Gamma: lambda law: stats.gamma(law.shape, scale=law.scale),
    Weibull: lambda law: stats.weibull_min(law.shape, scale=law.scale),
    Lognormal: lambda law: stats.lognorm(law.sigma, scale=law.median),
    Uniform: lambda law: stats.uniform(law.low, law.high - law.low),
}


@settings(max_examples=40)
@given(st.sampled_from(sorted(SCIPY, key=str)), st.floats(0.001, 1000.0), st.floats(0.01, 20.0))
def test_laws_by_mean_and_deviation_have_them(kind: Any, size: float, spread: float) -> None:
    """SciPy finds the mean and standard deviation that the law was made of; of a cost they are those turned round."""
    law = kind.of(mean=size, deviation=spread * size)
    reference = SCIPY[kind](law)
    assert reference.mean() == pytest.approx(size, rel=1e-9)
    assert reference.std() == pytest.approx(spread * size, rel=1e-7)
    assert mean(law) == pytest.approx(size, rel=1e-9)
    cost = kind.of(mean=-size, deviation=spread * size)
    assert mean(cost) == pytest.approx(-size, rel=1e-9)
    if kind is not Uniform:
        parameters = dict(zip(law._fields, law, strict=True))
        assert [abs(number) for number in cost] == pytest.approx(list(parameters.values()), rel=1e-12)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Gamma.of(0.0, 1.0), "mean is 0; it must not be"),
        (lambda: Lognormal.of(1.0, 0.0), "deviation is 0.0; it must be finite and greater than 0"),
        (lambda: Uniform.of(math.nan, 1.0), "mean is nan; it must be a finite number"),
        (lambda: Weibull.of(1.0, 1e-4), "no Weibull law of a shape from 0.01 to 1000 has a standard deviation of 0.0001 times"),
        (lambda: Weibull.of(1.0, 1e80), "has a standard deviation of 1e[+]80 times its mean; use another law"),
        (lambda: Weibull(0.001, 1.0), "Weibull.shape is 0.001; it must be from 0.01 to 1000"),
        (lambda: Weibull(1.0, 0.0), "Weibull.scale is 0; it must not be"),
        (lambda: Lognormal(1.0, 31.0), "Lognormal.sigma is 31.0; it must be greater than 0 and at most 30"),
        (lambda: Lognormal(0.0, 1.0), "Lognormal.median is 0; it must not be"),
        (lambda: Outcomes.observed([1.0, 2.0], [1.0]), "the number of rewards is 2 and that of durations is 1; give as many of each"),
        (lambda: Outcomes.observed([1.0], [-1.0]), "a duration is -1.0; it must be finite and at least 0"),
        (lambda: mean(Empirical([])), "the samples of a law is empty; give at least one"),
        (lambda: mean(Empirical([1.0, math.nan])), "a sample of a law is nan; it must be a finite number"),
        (lambda: sj.models.from_arrays([[[1.0]]], 1.0).with_laws(duration=SAMPLES), "samples become rows of a model, so give them to from_transitions"),
        (lambda: sj.models.from_transitions([(0, 0, 0, 1.0, Empirical(range(400)), Empirical(range(400)))]), "make 400 times 400 outcomes; there may be at most 100,000, so round them"),
        (lambda: sj.models.from_transitions([(0, 0, 0, WORDS[0], Empirical([1.0]), 1.0)]), "the probability of .0, 0, 0. is 'x'; it must be a number"),
    ],
)  # fmt: skip
def test_what_is_no_law_gets_a_sentence(make: Any, sentence: str) -> None:
    """Each is refused with its name and what it must be."""
    with pytest.raises((ValueError, TypeError), match=sentence):
        make()


def test_extreme_laws_draw_finite_numbers_above_zero() -> None:
    """At the ends of what is allowed draws stay within the floats, and durations above 0."""
    rng = sj.stream(0)
    for law in (Weibull(0.01, 1.0), Weibull(1000.0, 1.0), Lognormal(1.0, 30.0)):
        world = sj.worlds.Tabular(sj.models.from_transitions([(0, 0, 0, 1.0, 0.0, law)]))
        drawn = [sj.step.bare(world, 0, 0, rng)[3] for _ in range(2000)]
        assert 0.0 < min(drawn) <= max(drawn) < 1e200
        assert math.isfinite(mean(law))


def test_samples_are_rows_with_their_shares() -> None:
    """Samples of reward and duration: each different number is an outcome, and the gain is the ratio of their means."""
    rewards, durations = [1.0, 5.0, 5.0, 9.0], [2.0, 4.0]
    model = sj.models.from_transitions([(0, 0, 0, 1.0, Empirical(rewards), Empirical(durations))])
    assert model.num_rows == 6
    assert sj.solve(model).gain == pytest.approx(np.mean(rewards) / np.mean(durations), rel=1e-12)
    seen = sj.models.from_transitions([(0, 0, 0, 1.0, Outcomes.observed([1.0, 5.0, 5.0], [9.0, 2.0, 2.0]))])
    assert seen.num_rows == 2
    assert sj.solve(seen).gain == pytest.approx(11.0 / 13.0, rel=1e-12)


def test_the_audit_of_samples_is_that_of_their_harmonic_mean() -> None:
    """The harmonic limit of a model made of samples is the samples' own, computed from them one by one."""
    rng = np.random.default_rng(4)
    rewards, durations = rng.lognormal(size=50), rng.weibull(2.0, size=50) + 0.1
    model = sj.models.from_transitions(
        [(0, 0, 0, 1.0, Outcomes.observed(rewards.tolist(), durations.tolist()))]
    )
    found = sj.audit(model)["Harmonic"].rate
    assert found == pytest.approx(50.0 / (durations / rewards).sum(), rel=1e-9)
    apart = sj.models.from_transitions([(0, 0, 0, 1.0, Lognormal.of(3.0, 2.0), Gamma.of(2.0, 1.0))])
    by_hand = 1.0 / (2.0 * (1.0 + (2.0 / 3.0) ** 2) / 3.0)  # 1 / (E[duration] E[1 / reward])
    assert sj.audit(apart)["Harmonic"].rate == pytest.approx(by_hand, rel=1e-9)


@kernel
def _chosen(values: Any, rng: Any, out: Any) -> None:
    for index in range(len(out)):
        out[index] = sj.random.empirical(rng, values)


def test_samples_are_drawn_in_compiled_code() -> None:
    """`sj.random.empirical` gives each number equally often, in Python and compiled the same bits."""
    values = np.array([2.0, 3.0, 5.0, 7.0])
    fast, slow = np.empty(40_000), np.empty(500)
    _chosen(values, sj.stream(1), fast)
    _chosen.python(values, sj.stream(1), slow)
    assert fast[:500].tolist() == slow.tolist()
    counts = np.unique(fast, return_counts=True)
    assert counts[0].tolist() == values.tolist()
    assert stats.chisquare(counts[1]).pvalue > 1e-4


# --- In files and dictionaries ------------------------------------------------------------------

BY_NAME: dict[Any, Any] = {
    "good": {
        "run": {"reward": 5.0, "duration": {"law": "weibull", "mean": 1.0, "deviation": 0.5}, "next": {"good": 0.8, "worn": 0.2}}
    },
    "worn": {
        "run": {"reward": Lognormal.of(4.0, 1.0), "duration": 1.0, "next": {"worn": 0.6, "broken": 0.4}},
        "mend": {"reward": -2.0, "duration": {"law": "empirical", "values": [0.25, 0.75]}, "next": "good"},
    },
    "broken": {"mend": {"outcomes": [{"next": "good", "probability": 1, "reward": -10.0, "duration": 3.0}]}},
}  # fmt: skip


def test_a_dictionary_is_a_model() -> None:
    """The machine of the page on models, by names: its gain and policy are those worked out there by hand."""
    model = sj.models.from_dict(BY_NAME)
    assert model.state_names == ("good", "worn", "broken")
    assert model.action_names == ("run", "mend")
    solution = sj.solve(model)
    assert solution.gain == pytest.approx(23.0 / 5.5, rel=1e-9)
    assert solution.policy.tolist() == [0, 1, 1]
    assert "{'good': 'run', 'worn': 'mend', 'broken': 'mend'}" in repr(solution)


def test_any_keys_are_names() -> None:
    """States and actions may be tuples, numbers or anything else that has a text."""
    ring: Any = {
        (0, 1): {True: {"reward": 1, "duration": 2, "next": 7}},
        7: {None: {"reward": 0, "duration": 1, "next": {(0, 1): 1}}},
    }
    model = sj.models.from_dict(ring)
    assert (model.state_names, model.action_names) == (("(0, 1)", "7"), ("True", "None"))
    assert sj.solve(model).gain == pytest.approx(1.0 / 3.0, rel=1e-12)


def changed(**pair: Any) -> dict[Any, Any]:
    return {"a": {"go": {"reward": 1.0, "duration": 1.0, "next": "a"} | pair}}


@pytest.mark.parametrize(
    ("states", "sentence"),
    [
        ({}, "the states are {}; give a dictionary of states, each with its actions"),
        ([1], r"the states are \[1\]; give a dictionary"),
        ({"a": {}}, "state 'a' has {}; give it a dictionary of at least one action"),
        ({"a": {"go": 3}}, "state 'a', action 'go' is 3; it must be a table"),
        (changed(colour=1), "state 'a', action 'go' has the key 'colour'; the keys are amounts, duration, earning, flows, next, outcomes, rates, reward"),
        (changed(next="b"), "state 'a', action 'go' leads to 'b', which is not a state; there are a"),
        (changed(next=["a"]), r"next of state 'a', action 'go' is \['a'\]; it must be a table of probabilities"),
        (changed(next={"aa": 1.0}), "state 'a', action 'go' leads to 'aa', which is not a state; did you mean 'a'"),
        (changed(next={"a": 0.5}), "sum to 0.5"),
        (changed(duration=None), "state 'a', action 'go' has no duration"),
        (changed(duration=-1.0), "it must be finite and at least 0"),
        (changed(duration={"law": "weibull", "mean": 1.0}), "has the law weibull, which needs shape and scale, or mean and deviation"),
        (changed(duration={"law": "two_point", "mean": 1.0, "deviation": 1.0}), "which needs low, high and probability$"),
        (changed(duration={"law": "empirical", "values": 3}), "has the law empirical, which needs values, a list of samples"),
        (changed(duration={"law": "empirical", "values": ["x"]}), "a sample of the duration of state 'a', action 'go' is 'x'; it must be a number"),
        (changed(duration={"law": "empirical", "values": []}), "is empty; give at least one"),
        ({1: changed(next=1)["a"], "1": changed(next=1)["a"]}, "state_names has '1' twice; names must differ"),
        ({"a": {1: changed()["a"]["go"], "1": changed()["a"]["go"]}}, "action_names has '1' twice; names must differ"),
    ],
)  # fmt: skip
def test_a_dictionary_that_is_no_model_gets_a_sentence(states: Any, sentence: str) -> None:
    """The state and the action are named, and what is wrong with them."""
    with pytest.raises((ValueError, TypeError), match=sentence):
        sj.models.from_dict(states)


@pytest.mark.parametrize("suffix", [".toml", ".json"])
def test_new_laws_are_written_and_read_again(tmp_path: Path, suffix: str) -> None:
    """A model with every new law is the same after it has been written to a file and read again."""
    model = sj.models.from_dict(BY_NAME)
    save_model(model, tmp_path / f"model{suffix}")
    again = load_model(tmp_path / f"model{suffix}")
    *found, by_rows = model.flat_laws()
    *read, again_by_rows = again.flat_laws()
    assert by_rows == again_by_rows
    for one, other in zip(found, read, strict=True):
        assert [one.law(row) for row in range(len(one))] == [other.law(row) for row in range(len(other))]
    assert again.probability.tolist() == model.probability.tolist()


def test_a_file_may_have_samples_and_moments() -> None:
    """TOML's tables of laws mean what the constructors of the same names do."""
    pair = {"state": 0, "action": 0, "next": {"0": 1.0}}
    given = {
        "reward": {"law": "empirical", "values": [1, 2]},
        "duration": {"law": "gamma", "mean": 4, "deviation": 2},
    }
    model = parse_model({"states": 1, "actions": 1, "pairs": [pair | given]})
    assert model.row_reward is not None
    assert model.row_reward.tolist() == [1.0, 2.0]
    assert model.duration_law is not None
    assert model.duration_law.law(0) == Gamma(4.0, 1.0)
