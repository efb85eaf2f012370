"""Units of observations and rewards that follow what an agent sees, and means of actions that stay between bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sojourn as sj
from sojourn.agents.networks.base import (
    earn,
    earnings,
    moments,
    normalise,
    observe,
    refit_inputs,
    refit_outputs,
    renew_scale,
    renew_units,
    scale_of,
)
from sojourn.agents.networks.perceptron import forward, inputs_in, outputs_in, perceptron
from sojourn.agents.networks.ppo import held_mean, point_slopes
from sojourn.rules.random import stream


def test_new_units_change_nothing_that_a_network_says() -> None:
    """A network's values, in the user's units, are the same to twelve digits before and after both units change."""
    draws = np.random.default_rng(1)
    network = perceptron((3, 8, 8, 2), 5, stream(2), precision="double")
    seen, known = moments(3), earnings(sj.Exponential(0.01), 1)
    looked_at = draws.normal(size=(5, 3)) * [1.0, 2.0, 0.01] + [
        3.0,
        0.0,
        -7.0,
    ]  # none so far out that it is cut

    def said() -> Any:
        for row in range(5):
            normalise(seen, looked_at, row, inputs_in(network), row)
        forward(network, network.weights, 5)
        return scale_of(known) * outputs_in(network, network.units)

    for size in (0.5, 1.0, 30.0):
        for row in draws.normal(size=(40, 3)) * [1.0, 2.0, 0.01] * size + [3.0, 0.0, -7.0]:
            observe(seen, row[None], 0)
            earn(known, 0, float(size * row[0]), 1.0, True)
        before, unit = said(), scale_of(known)
        refit_inputs(seen, network, network.weights)
        refit_outputs(known, network, network.weights)
        renew_units(seen)
        renew_scale(known)
        assert scale_of(known) != pytest.approx(unit, rel=0.1)
        assert seen.centres == pytest.approx(seen.means)
        if size > 0.5:  # the first units only begin
            assert said() == pytest.approx(before, rel=1e-12)


@pytest.mark.parametrize("size", [1e-9, 1e9])
def test_the_first_unit_does_not_multiply_weights(size: float) -> None:
    """Where nothing was paid at first, or an input never changed, the first unit leaves the network about as it was.

    The reward and the input are about `size` then; weights that had been multiplied or divided by that would be lost.
    """
    network = perceptron((1, 4, 2), 1, stream(2), precision="double")
    seen, known, began = moments(1), earnings(sj.Exponential(0.01), 1), network.weights.copy()
    for k in range(40):
        if k == 20:  # as agents do: the first units, while nothing has happened
            renew_units(seen)
            renew_scale(known)
            assert scale_of(known) == 1.0
        observe(seen, np.array([[size * (k % 2) * (k >= 20)]]), 0)
        earn(known, 0, size * (k % 2) * (k >= 20), 1.0, True)
    refit_inputs(seen, network, network.weights)
    refit_outputs(known, network, network.weights)
    renew_units(seen)
    renew_scale(known)
    assert scale_of(known) == pytest.approx(0.6 * size, rel=0.4)
    assert network.weights[:4] == pytest.approx(began[:4])
    assert (np.abs(network.weights[4:8]) < 10.0).all()  # their offsets
    ratio = network.weights[8:16] / began[8:16]
    assert ((ratio > 0.1) & (ratio < 10.0)).all()


def test_units_forget_what_is_no_longer_seen() -> None:
    """After 80,000 observations a tenth as wide, the unit is theirs; of one that has come to rest, a hundredth is left."""
    seen, draws = moments(2), np.random.default_rng(3)
    wide = draws.normal(size=(500, 2)) * 50.0
    narrow = np.column_stack([draws.normal(size=80_000) * 5.0, np.full(80_000, 2.0)])
    for rows in (wide, narrow):
        for row in range(len(rows)):
            observe(seen, rows, row)
        renew_units(seen)
    assert seen.units[0] == pytest.approx(5.0, rel=0.05)
    assert seen.units[1] == pytest.approx(0.01 * wide[:, 1].std(), rel=1e-9)
    assert seen.centres[1] == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize(
    ("output", "point", "slope"),
    [(0.5, 0.9, -0.4), (1.5, 1.2, 0.0), (1.5, 0.7, 0.3), (-2.0, -1.6, 0.0), (-2.0, -0.9, -0.1)],
)
def test_a_mean_beyond_its_bound_is_only_pulled_back(output: float, point: float, slope: float) -> None:
    """The mean is taken at the bound; what would push it farther out is no slope, what pulls it back is one as there."""
    network = perceptron((1, 1), 1, stream(0), precision="double", further=[0.0])
    outputs, slopes, furthest = np.array([[output]]), np.zeros((1, 1)), np.ones(1)
    assert held_mean(outputs, 0, 0, furthest) == np.clip(output, -1.0, 1.0)
    point_slopes(network, outputs, 0, furthest, np.array([[point]]), 0, -1.0, slopes)
    assert slopes[0, 0] == pytest.approx(slope, abs=1e-12)


def test_actions_without_bounds_have_means_without_ends() -> None:
    """Where actions are unbounded, so is the mean: an output of 7 is the action 7."""
    spaces = sj.agents.Spaces(num_inputs=1, low=np.array([-np.inf]), high=np.array([np.inf]))
    agent = sj.ppo(spaces, hidden=(), precision="double", compiled=False)
    learned: Any = agent.learned
    learned.policy.weights[:2] = 0.0, 7.0
    assert agent.greedy(np.zeros((1, 1)), np.zeros((1, 0))).tolist() == [[7.0]]
