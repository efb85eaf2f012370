"""Logs made of known models by known behaviours, for the tests of logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import sojourn as sj
from sojourn.exact.logs.fit import LogRows
from sojourn.models.laws import Exponential, FlooredNormal, Gamma
from sojourn.rules.arrays import Floats, Ints
from sojourn.rules.kernel import kernel
from sojourn.rules.random import Stream, uniform
from sojourn.worlds.protocol import World, step

_step = step.bare


@kernel
def _write(
    world: World, upto: Floats, rng: Stream, state: Ints, action: Ints, reward: Floats, duration: Floats
) -> None:
    """Follow a policy whose cumulative probabilities are `upto`; the last state has one place more than the rows."""
    for row in range(len(reward)):
        drawn, chosen = uniform(rng), 0
        while drawn >= upto[state[row], chosen]:
            chosen += 1
        action[row] = chosen
        _, state[row + 1], reward[row], duration[row] = _step(world, state[row], chosen, rng)


def log_of(model: sj.SMDP, policy: Floats, count: int, seed: int) -> LogRows:
    """Return `count` rows of a policy's probabilities [state, action] in a model."""
    upto = np.cumsum(policy, axis=1)
    upto[:, -1] = 1.0
    state, action = np.zeros(count + 1, dtype=np.int64), np.zeros(count, dtype=np.int64)
    reward, duration = np.zeros(count), np.zeros(count)
    _write(sj.worlds.Tabular(model), upto, sj.stream(seed), state, action, reward, duration)
    return LogRows(state[:-1], action, reward, duration, state[1:])


def models() -> dict[str, sj.SMDP]:
    """The models that logs are made of."""
    return {
        "gosavi": sj.problems.gosavi(),
        "maintenance": sj.problems.tijms_maintenance(),
        "replacement": sj.problems.replacement(num_ages=9, interval=0.5),
        "admission": sj.problems.admission_control(capacity=8),
        "access": sj.problems.access_control(num_servers=3, free_probability=0.2),
        "machine": machine(),
        "random": drawn(5),
    }


def machine() -> sj.SMDP:
    """A machine that wears: go on, oil it, or replace it; random times, and a breakdown that costs."""
    rows: list[Any] = []
    for wear in range(5):
        worse, breaks = min(wear + 1, 4), 0.02 + 0.07 * wear
        pay, time = 4.0 - 0.6 * wear, Exponential(1.0)
        rows += [
            (wear, "run", worse, 0.5 * (1.0 - breaks), pay, time),
            (wear, "run", wear, 0.5 * (1.0 - breaks), pay, time),
            (wear, "run", 0, breaks, -10.0, Exponential(4.0)),
            (wear, "oil", max(wear - 1, 0), 0.8, pay - 1.5, Exponential(1.2)),
            (wear, "oil", worse, 0.2, pay - 1.5, Exponential(1.2)),
            (wear, "replace", 0, 1.0, -3.0, Gamma(4.0, 0.5)),
        ]
    return sj.models.from_transitions(
        [(f"wear {row[0]}", row[1], f"wear {row[2]}", *row[3:]) for row in rows]
    )


def drawn(seed: int) -> sj.SMDP:
    """Six states with three actions each, all drawn."""
    rng = np.random.default_rng(seed)
    means = rng.uniform(0.5, 3.0, (6, 3))
    model = sj.models.from_arrays(rng.dirichlet(np.full(6, 0.5), (6, 3)), rng.normal(1.0, 2.0, (6, 3)), means)
    return model.with_laws(reward=lambda mean: FlooredNormal(mean, 2.0, -50.0), duration=Exponential)


def behaviours(model: sj.SMDP) -> dict[str, Floats]:
    """Four policies with some chance of every action: even, habitual, good, uneven."""
    has = model.pair_table() >= 0
    even = has / has.sum(axis=1, keepdims=True)
    first, best = np.zeros(has.shape), np.zeros(has.shape)
    first[np.arange(len(has)), has.argmax(axis=1)] = 1.0
    best[np.arange(len(has)), sj.solve(model).policy] = 1.0
    drawn = np.random.default_rng(len(has)).exponential(1.0, has.shape) * has
    uneven = drawn / drawn.sum(axis=1, keepdims=True)
    return {
        "even": even,
        "habitual": 0.2 * even + 0.8 * first,
        "good": 0.3 * even + 0.7 * best,
        "uneven": 0.2 * even + 0.8 * uneven,
    }


def as_log(rows: LogRows, model: sj.SMDP, probability: Floats | None = None) -> sj.exact.Log:
    """Return rows as a log whose labels are numbers."""
    labels = (tuple(range(model.num_states)), tuple(range(model.num_actions)))
    return sj.exact.Log(rows, np.zeros(len(rows.state), dtype=np.int64), probability, labels)


class Trial(NamedTuple):
    """What became of one log: was too much promised, is the advice worse, how much it gains, did the interval hold."""

    promised_too_much: bool
    worse: bool
    realised: float
    covered: bool


def tried(model: sj.SMDP, policy: Floats, count: int, seeds: Sequence[int]) -> list[Trial]:
    """Make logs of a behaviour, improve each, and hold what is promised against the exact gain."""
    before, best = float(sj.evaluate(model, policy).gain), sj.solve(model).gain
    trials = []
    for seed in seeds:
        log = as_log(log_of(model, policy, count, seed), model)
        better = log.improve()
        gain = before if better.kept else true_gain(model, policy, better.policy)
        behaviour = better.behaviour
        trials.append(
            Trial(
                promised_too_much=better.low > (before if better.kept else gain),
                worse=gain < before - 1e-9 * abs(before),
                realised=(gain - before) / (best - before),
                covered=behaviour.low <= before <= behaviour.high,
            )
        )
    return trials


def true_gain(model: sj.SMDP, behaviour: Floats, advice: Mapping[Any, Any]) -> float:
    """Return what advice is worth in truth; states that the log does not have keep the behaviour."""
    followed = behaviour.copy()
    for state, action in advice.items():
        followed[state] = 0.0
        followed[state, action] = 1.0
    return float(sj.evaluate(model, followed).gains[0])
