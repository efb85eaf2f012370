"""Loops without reference counting: whatever rules do with their arrays, compiled code does what Python does."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import sojourn as sj
from sojourn.agents.protocol import draw, learn, pauses, think
from sojourn.agents.values.protocol import Table
from sojourn.rates.ratio import Cumulative
from sojourn.rules.arrays import Floats
from sojourn.rules.values import same


class Juggler(NamedTuple):
    """An agent that does everything unusual with its arrays: it swaps them, allocates new ones, returns views."""

    values: Table
    rate: Cumulative
    left: Floats
    right: Floats
    part: Floats
    steps: int
    accepted: bool


@draw.register
def draw_any(agent: Juggler, state: int, rng: Any) -> tuple[int, bool]:
    """Alternate."""
    return agent.steps % 2, False


@learn.register
def juggle(
    agent: Juggler,
    state: int,
    action: int,
    reward: float,
    duration: float,
    next_state: int,
    explored: bool,
) -> Juggler:
    """Swap two arrays in every step; every seventh step allocates a new one, and returns a view of another."""
    left, right, part = agent.right, agent.left, agent.part
    if agent.steps % 7 == 3:
        left = left + reward
        part = right[1:3]
    right[agent.steps % 4] += duration
    return Juggler(
        values=agent.values,
        rate=agent.rate,
        left=left,
        right=right,
        part=part,
        steps=agent.steps + 1,
        accepted=True,
    )


@pauses.register
def pauses_often(agent: Juggler) -> bool:
    """Every fifth step."""
    return agent.steps % 5 == 0


@think.register
def grow(agent: Juggler, state: int) -> Juggler:
    """Make a new array."""
    return Juggler(
        values=agent.values,
        rate=agent.rate,
        left=agent.left * 0.5,
        right=agent.right,
        part=agent.part,
        steps=agent.steps,
        accepted=agent.accepted,
    )


@pytest.mark.parametrize("record", [0, 30])
def test_arrays_may_be_swapped_allocated_and_sliced(record: int) -> None:
    """An agent whose rules swap arrays, allocate new ones and keep views of others is the same compiled and in Python."""
    agent = Juggler(Table(np.zeros((2, 2))), Cumulative(), np.arange(4.0), np.ones(4), np.zeros(2), 1, False)
    world = sj.worlds.TwoState(log_scale=1e-3)
    runs = [
        sj.run(world, agent, steps=200, record=record, seed=2, compiled=compiled)
        for compiled in (True, False)
    ]
    litter = [np.full(4, np.nan) for _ in range(1000)]  # where freed memory would be reused
    assert same(*(run.agent for run in runs))
    assert np.isfinite(runs[0].agent.left).all()
    assert len(litter) == 1000
    assert same(agent.left, np.arange(4.0))
