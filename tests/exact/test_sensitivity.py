"""Sensitivities against differences, and what changes a policy against policies that were changed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sojourn as sj
from sojourn.models import SMDP, from_transitions


def random_model(seed: int, states: int = 5) -> SMDP:
    """A model in which every action can lead anywhere near; rewards and durations are those of transitions in every second one."""
    rng = np.random.default_rng(seed)
    rows = []
    for s in range(states):
        for a in range(int(rng.integers(1, 4))):
            law = rng.dirichlet(np.ones(3))
            fixed = (float(rng.normal(2.0, 3.0)), float(rng.uniform(0.5, 3.0)))
            for chance, after in zip(
                law, {(s + 1) % states, *rng.permutation(states)[:3].tolist()}, strict=False
            ):
                own = (float(rng.normal(2.0, 3.0)), float(rng.uniform(0.5, 3.0)))
                rows.append((s, a, after, float(chance), *(own if seed % 2 else fixed)))
    return normalised(rows)


def normalised(rows: list[Any]) -> SMDP:
    """The model with the probabilities of each pair divided by their sum."""
    total: dict[Any, float] = {}
    for row in rows:
        total[row[:2]] = total.get(row[:2], 0.0) + row[3]
    return from_transitions([(*row[:3], row[3] / total[row[:2]], *row[4:]) for row in rows])


def naive_value(model: SMDP, pairs: Any, reward: Any = None) -> tuple[float, Any]:
    """The gain and the losses h - (r - g d + P h) of all pairs, with dense matrices, from the definitions alone."""
    law = np.zeros((model.num_pairs, model.num_states))
    pair = np.repeat(np.arange(model.num_pairs), np.diff(model.row_offsets))
    np.add.at(law, (pair, model.successor), model.probability)
    law /= law.sum(axis=1, keepdims=True)
    reward = model.reward if reward is None else reward
    # h + g d - P h = r, with the bias of the whole law 0: one more equation.
    n = model.num_states
    system = np.zeros((n + 1, n + 1))
    system[:n, :n], system[:n, n], system[n, :n] = np.eye(n) - law[pairs], model.duration[pairs], 1.0
    *bias, gain = np.linalg.lstsq(system, np.append(reward[pairs], 0.0), rcond=None)[0]
    state = model.state_of_pair()
    return gain, np.asarray(bias)[state] - (reward - gain * model.duration + law @ np.asarray(bias))


@pytest.mark.parametrize("seed", range(8))
def test_sensitivities_are_differences(seed: int) -> None:
    """Each derivative is the difference of two gains over a small difference of the number."""
    model, rng = random_model(seed), np.random.default_rng(seed)
    policy = np.zeros((model.num_states, model.num_actions))
    weight = rng.uniform(0.1, 1.0, model.num_pairs) * rng.integers(0, 2, model.num_pairs)
    weight[model.pair_offsets[:-1]] += 0.2
    policy[model.state_of_pair(), model.action] = weight
    policy /= policy.sum(axis=1, keepdims=True)
    found, e = sj.evaluate(model, policy).sensitivity, 1e-5

    def gain(**parts: Any) -> float:
        given = {name: getattr(model, name) for name in ("reward", "duration", "probability")} | parts
        if seed % 2:
            for name in {"reward", "duration"} - set(parts):
                given[name], given[f"row_{name}"] = None, getattr(model, f"row_{name}")
        offsets = (model.pair_offsets, model.row_offsets, model.successor)
        return sj.evaluate(SMDP(*offsets, action=model.action, **given), policy).gain

    for name in ("reward", "duration"):
        for pair in range(model.num_pairs):
            away = e * (np.arange(model.num_pairs) == pair)
            own = getattr(model, name)
            difference = gain(**{name: own + away}) - gain(**{name: own - away})
            assert getattr(found, name)[pair] == pytest.approx(difference / (2.0 * e), rel=1e-6, abs=1e-8)
    pairs = np.repeat(np.arange(model.num_pairs), np.diff(model.row_offsets))
    for row in range(model.num_rows):
        ends = []
        for step in (e, -e):
            moved = model.probability + step * (np.arange(model.num_rows) == row)
            moved = moved / np.bincount(pairs, moved)[pairs]
            ends.append(gain(probability=moved))
        assert found.probability[row] == pytest.approx((ends[0] - ends[1]) / (2.0 * e), rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("seed", range(8))
def test_rewards_may_move_so_far_and_no_further(seed: int) -> None:
    """With a reward moved to 0.999 of the way the policy is still the best, and at 1.001 another action is better."""
    model = random_model(seed)
    best = sj.solve(model)
    found, pairs = best.alternatives(), np.flatnonzero(best.worth.pair_shares)
    size = np.abs(model.reward).max()
    assert found.loss == pytest.approx(naive_value(model, pairs)[1], abs=1e-9 * size)
    for pair in range(model.num_pairs):
        for room, sign in ((found.fall[pair], -1.0), (found.rise[pair], 1.0)):
            moved = model.reward.copy()
            moved[pair] += sign * (0.999 * room if np.isfinite(room) else 1e4 * size)
            assert naive_value(model, pairs, moved)[1].min() > -1e-7 * size
            if np.isfinite(room):
                moved[pair] += sign * 0.002 * room
                assert naive_value(model, pairs, moved)[1].min() < 0.0
                again = sj.solve(model.with_means(moved, model.duration))
                assert (np.asarray(again.policy) != np.asarray(best.policy)).any()


@pytest.mark.parametrize("seed", range(10))
def test_the_cost_of_another_action(seed: int) -> None:
    """The gain of the policy with one action changed is lower by the cost that was worked out."""
    model = random_model(seed)
    best = sj.solve(model)
    cost = best.alternatives().cost
    for pair, state in enumerate(model.state_of_pair()):
        changed = np.array(best.policy)
        changed[state] = model.action[pair]
        assert best.gain - sj.evaluate(model, changed).gain == pytest.approx(cost[pair], abs=1e-10)


def test_states_that_are_left_for_good() -> None:
    """What happens in a transient state costs nothing in the long run, but what is lost there is still told."""
    model = from_transitions([("start", "fast", "work", 1.0, 1.0, 1.0), ("start", "slow", "work", 1.0, 0.0, 1.0), ("start", "stay", "start", 1.0, 1.5, 1.0),
                              ("work", "go", "work", 1.0, 2.0, 1.0)])  # fmt: skip
    found = sj.solve(model).alternatives()
    assert found.loss.tolist() == [0.0, 1.0, 0.5, 0.0]
    assert found.cost[1] == 0.0
    assert np.isnan(found.cost[2])  # whoever stays has another gain than whoever works
    assert found.fall.tolist() == [1.0, np.inf, np.inf, 0.5]
    assert found.rise.tolist() == [np.inf, 1.0, 0.5, np.inf]
    slower = model.with_means(model.reward - np.array([1.1, 0.0, 0.0, 0.0]), model.duration)
    assert (
        sj.evaluate(slower, {"start": "fast"}).gain == sj.solve(slower).gain
    )  # beyond its fall, which matters only on the way


def test_what_cannot_be_worked_out_is_refused() -> None:
    """Several recurrent classes, drawn actions and large models are refused in a sentence."""
    twice = from_transitions([(0, 0, 0, 1.0, 1.0, 1.0), (1, 0, 1, 1.0, 1.0, 1.0)])
    with pytest.raises(ValueError, match="several recurrent classes"):
        sj.solve(twice).alternatives()
    walk = [(s, 0, (s + 1) % 1001, 1.0, 1.0, 1.0) for s in range(1001)]
    with pytest.raises(ValueError, match=r"at most 1,000, and `advantages` of `evaluate`"):
        sj.solve(from_transitions(walk)).alternatives()
    line = from_transitions([("on", "work", "on", 1.0, 3.0, 1.0), ("on", "rest", "on", 1.0, 1.0, 1.0)])
    limited = line.with_amounts({"energy": [2.0, 0.0]})
    half = sj.solve(limited, limits=[sj.exact.at_most("energy", 1.0)])
    assert half.deviation == pytest.approx(1.0)  # it earns 3 or 1, each half of the time
    assert "{'on': {'work': 0.5, 'rest': 0.5}}" in repr(half)
    with pytest.raises(ValueError, match="draws its actions at random"):
        half.alternatives()


def test_ties_lose_nothing_at_all() -> None:
    """Where two actions do the same, the loss is 0 and not what rounding left, in `advantages` and in the table."""
    rows: list[tuple[int, str, int, float, float, float]] = []
    for k in range(30):
        for name in ("one", "other"):
            rows += [
                (k, name, min(k + 1, 29), 0.3, -k / 7.0, 1 / 3),
                (k, name, max(k - 1, 0), 0.7, -k / 7.0, 1 / 3),
            ]
        rows += [(k, "bad", min(k + 1, 29), 1.0, -k / 7.0, 1 / 3)]
    found = sj.solve(sj.models.from_transitions(rows))
    advantages = found.worth.advantages.reshape(30, 3)
    assert (advantages[:, :2] == 0.0).all()
    assert (advantages[:29, 2] < -1e-3).all()
    assert found.table()["loss"].to_list() == [0.0] * 30
