"""Amounts beside reward and duration: in every way to make a model, in files, in `evaluate` and in `solve`."""

from __future__ import annotations

import copy
import itertools
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sojourn as sj
from sojourn.exact.multichain import restricted
from sojourn.models import (
    SMDP,
    Option,
    from_arrays,
    from_dict,
    from_matrices,
    from_options,
    from_rates,
    from_transitions,
    load_model,
    modulated,
    primitive,
    save_model,
)
from sojourn.models.laws import Exponential
from sojourn.models.transitions import RateRow


def loss_queue(room: int, arrivals: float = 2.0, service: float = 3.0) -> SMDP:
    """M/M/1/K, with the calls that arrive, those that are lost, and the calls inside."""
    rates: list[RateRow] = []
    for inside in range(room + 1):
        here = inside, 0
        more = min(inside + 1, room)
        rates.append((*here, more, arrivals, 0.0, {"arrived": 1.0, "lost": float(inside == room)}))
        if inside:
            rates.append((*here, inside - 1, service, 1.0))
    return from_rates(rates, flows={"inside": {(n, 0): float(n) for n in range(room + 1)}})


@pytest.mark.parametrize("room", [1, 2, 5, 9])
def test_a_queue_that_loses_calls_agrees_with_its_closed_form(room: int) -> None:
    """The share that M/M/1/K loses, its shares of time and Little's law, in exact fractions."""
    model = loss_queue(room)
    worth = sj.evaluate(model, np.zeros(room + 1, dtype=int))
    load = Fraction(2, 3)
    shares = [load**n / sum(load**k for k in range(room + 1)) for n in range(room + 1)]
    assert worth.per("lost", "arrived") == pytest.approx(float(shares[-1]), rel=1e-13)
    assert worth.per("arrived") == pytest.approx(2.0, rel=1e-13)
    assert worth.time_shares == pytest.approx([float(each) for each in shares], rel=1e-12)
    inside = sum(n * each for n, each in enumerate(shares))
    assert worth.per("inside") == pytest.approx(float(inside), rel=1e-12)
    entering = 2 * (1 - shares[-1])  # Little: the mean time inside, by the calls that enter
    entered = worth.per("arrived") - worth.per("lost")
    assert worth.per("inside") / entered == pytest.approx(float(inside / entering), rel=1e-12)
    assert worth.rates["reward"] == pytest.approx(worth.gain, rel=1e-13)
    # Cycles: a state that has the share x of the time and lasts d on average is entered x/d times per unit time.
    lasting = [1 / (2 + 3 * (n > 0)) for n in range(room + 1)]
    back = [d / float(x) for d, x in zip(lasting, shares, strict=True)]
    assert worth.mean_cycle == pytest.approx(back, rel=1e-12)


def ways() -> dict[str, SMDP]:
    """The same model, made in every way; the amount `lost` is .5 and 2, where the first depends on what follows."""
    table = np.array([[[0.5, 0.5]], [[1.0, 0.0]]])
    lost = np.array([[[1.0, 0.0]], [[2.0, 0.0]]])
    return {
        "arrays": from_arrays(table, [[1.0], [2.0]], [[1.0], [3.0]], amounts={"lost": lost}),
        "arrays of pairs": from_arrays(table, [[1.0], [2.0]], [[1.0], [3.0]], amounts={"lost": [[0.5], [2.0]]}),
        "matrices": from_matrices([table[:, 0]], [[1.0], [2.0]], [[1.0], [3.0]], amounts={"lost": [lost[:, 0]]}),
        "transitions": from_transitions([
            (0, 0, 0, 0.5, 1.0, 1.0, {"lost": 1.0}),
            (0, 0, 1, 0.5, 1.0, 1.0),
            (1, 0, 0, 1.0, 2.0, 3.0, {"lost": Exponential(2.0)}),
        ]),
        "dictionary": from_dict({
            0: {"go": {"reward": 1, "duration": 1, "outcomes": [
                {"next": 0, "probability": 0.5, "amounts": {"lost": 1}}, {"next": 1, "probability": 0.5}]}},
            1: {"go": {"reward": 2, "duration": 3, "next": 0, "amounts": {"lost": {"law": "exponential", "mean": 2}}}},
        }),
    }  # fmt: skip


@pytest.mark.parametrize("way", ways())
def test_every_way_to_make_a_model_takes_amounts(way: str, tmp_path: Path) -> None:
    """The same amounts come out of each, and survive files, pickles, copies and every change of the model."""
    model = ways()[way]
    same = [
        model,
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        model.with_means(model.duration, model.reward),
    ]
    same += [
        model.with_laws(duration=Exponential),
        model.with_counts([3, 4]),
        model.with_names(["a", "b"], None),
    ]
    for name in ("model.toml", "model.json"):
        save_model(model, tmp_path / name)
        same.append(load_model(tmp_path / name))
    same.append(from_options(model, [primitive(model, 0)]))
    same.append(model.with_actions_reversed())
    for each in same:
        assert each.amount("lost").tolist() == [0.5, 2.0]
    assert sj.evaluate(model, [0, 0]).per("lost", "reward") == pytest.approx(
        3 / 4
    )  # steps 2/3, 1/3: 1 lost, 4/3 earned
    assert modulated([model, model], mean=2.0).amount("lost").tolist() == [0.5, 2.0, 0.5, 2.0]


def test_an_option_adds_up_amounts() -> None:
    """An option of two steps has the amounts of both."""
    corridor = from_arrays(
        [[[0, 1, 0]], [[0, 0, 1]], [[1, 0, 0]]],
        [[1.0], [5.0], [0.0]],
        amounts={"fuel": [[2.0], [3.0], [7.0]]},
    )
    there = from_options(corridor, [Option(policy=[0, 0, 0], termination=[0.0, 0.0, 1.0])])
    assert there.amount("fuel").tolist() == [5.0, 3.0, 12.0]


def press() -> SMDP:
    """Two ways to make items: one is fast, the other one saves energy."""
    return from_dict(
        {
            "press": {
                "fast": {"reward": 0, "duration": 1, "next": "press", "amounts": {"items": 3, "energy": 6}},
                "slow": {"reward": 0, "duration": 2, "next": "press", "amounts": {"items": 4, "energy": 5}},
            }
        }
    )


def test_any_amount_per_any_other() -> None:
    """The best policy depends on what is counted, and `evaluate` finds the same ratio."""
    assert sj.solve(press(), maximise="items").gain == 3.0
    thrifty = sj.solve(press(), maximise="items", per="energy")
    assert (thrifty.gain, thrifty.policy.tolist()) == (0.8, [1])
    assert sj.evaluate(press(), thrifty.policy).per("items", "energy") == 0.8
    assert sj.solve(press(), maximise="items", per="steps").gain == 4.0


def test_amounts_follow_their_pairs() -> None:
    """Reversed actions, a part of a model, and a policy that mixes actions."""
    assert press().with_actions_reversed().amount("items").tolist() == [4.0, 3.0]
    part, _ = restricted(press(), np.array([0]), np.array([False, True]))
    assert part.amount("energy").tolist() == [5.0]
    assert sj.evaluate(press(), [[0.25, 0.75]]).per("items", "energy") == 3.75 / 5.25


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), names=st.integers(1, 3))
def test_amounts_of_random_models(seed: int, names: int) -> None:
    """Each amount per each other is that of the stationary law in exact fractions, and no policy beats the solution."""
    rng = np.random.default_rng(seed)
    chances = rng.integers(1, 5, size=(3, 2, 3)).astype(float)
    chances /= chances.sum(axis=2, keepdims=True)
    amounts = {f"amount {k}": rng.integers(1, 9, size=(3, 2)).astype(float) for k in range(names)}
    model = from_arrays(chances, rng.integers(-5, 5, size=(3, 2)), amounts=amounts)
    ratios = {}
    for policy in itertools.product((0, 1), repeat=3):
        law = _exact_law([[Fraction(float(p)) for p in chances[s, policy[s]]] for s in range(3)])
        means = {
            name: sum(law[s] * Fraction(float(each[s, policy[s]])) for s in range(3))
            for name, each in {**amounts, "reward": model.reward.reshape(3, 2)}.items()
        }
        worth = sj.evaluate(model, list(policy))
        for one, other in itertools.product(means, amounts):
            assert worth.per(one, other) == pytest.approx(float(means[one] / means[other]), rel=1e-12)
        ratios[policy] = float(means["reward"] / means["amount 0"])
    best = sj.solve(model, per="amount 0")
    assert best.gain == pytest.approx(max(ratios.values()), rel=1e-11)


def _exact_law(rows: list[list[Fraction]]) -> list[Fraction]:
    """Return the stationary law of three states: products of the chances of the trees that lead to each state."""
    p = [[each / sum(row) for each in row] for row in rows]
    weights = []
    for root in range(3):
        one, other = (state for state in range(3) if state != root)
        weights.append(
            p[one][root] * p[other][root] + p[one][root] * p[other][one] + p[other][root] * p[one][other]
        )
    return [each / sum(weights) for each in weights]


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"maximise": "iems"}, "has no amount 'iems'.*items"),
        ({"maximise": "items", "per": "never"}, "can stay in .* for ever with never 0"),
        ({"maximise": "items", "per": "debt"}, "'debt' of state 0.* is -1; to count per debt"),
    ],
)
def test_what_cannot_be_counted_is_refused(asked: dict[str, str], sentence: str) -> None:
    """An amount that does not exist, may stay 0 for ever or may be negative."""
    model = from_transitions([(0, 0, 0, 1.0, 1.0, 1.0, {"items": 1.0, "never": 0.0, "debt": -1.0})])
    with pytest.raises(ValueError, match=sentence):
        sj.solve(model, maximise=asked["maximise"], per=asked.get("per", "duration"))


def test_a_model_that_counts_nothing_says_how_it_could() -> None:
    """Asked for an amount, by a limit or of a policy's value, the sentence names where amounts are given."""
    plain = from_transitions([(0, 0, 0, 1.0, 1.0, 1.0)])
    said = "no amount 'lost', only reward, duration and steps; give its pairs one by that name, in amounts, or in flows"
    with pytest.raises(ValueError, match=said):
        sj.solve(plain, limits=[sj.exact.at_most("lost", 0.1)])
    with pytest.raises(ValueError, match=said):
        sj.evaluate(plain, [0]).per("lost")


def test_wrong_amounts_are_refused() -> None:
    """Names that every model has, wrong lengths, numbers that are not finite, and regimes that do not agree."""
    model = from_transitions([(0, 0, 0, 1.0, 1.0, 1.0)])
    for amounts, sentence in (
        ({"reward": [1.0]}, "amounts of every model"),
        ({"lost": [1.0, 2.0]}, "must be 1, the number of pairs"),
        ({"lost": [np.nan]}, "must be finite"),
    ):
        with pytest.raises(ValueError, match=sentence):
            model.with_amounts(amounts)
    with pytest.raises(ValueError, match="'lost' is not in all regimes"):
        modulated([model, model.with_amounts({"lost": [1.0]})], mean=1.0)
    with pytest.raises(ValueError, match="no never in the long run"):
        sj.evaluate(model.with_amounts({"never": [0.0]}), [0]).per("reward", "never")
    wrong: tuple[tuple[Any, Any], ...] = (
        (from_transitions, [(0, 0, 0, 1.0, 1.0, 1.0, {"lost": "many"})]),
        (from_rates, [(0, 0, 0, 1.0, 1.0, 3.0)]),
        (from_rates, [(0, 0, 0, 1.0, 1.0, {"lost": "many"})]),
    )
    for make, rows in wrong:
        with pytest.raises(TypeError, match=r"amount.* (is|are) ('many'|3.0)"):
            make(rows)
    with pytest.raises(TypeError):
        model.with_amounts({"lost": [1.0]}).amounts["lost"] = np.zeros(1)  # type: ignore[index]
