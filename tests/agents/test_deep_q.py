"""What keeps deep Q from falling apart: returns of several steps, and actions that explore for longer than a step."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import sojourn as sj
from sojourn.agents.networks.deep_q import _look_ahead

SMALL: Any = {"hidden": (3,), "batch": 2, "warm_up": 10_000, "compiled": False}


def fed(agent: Any, rows: list[tuple[int, float, bool, bool]]) -> None:
    """Show an agent steps, given as their place, reward, whether they are cut, and whether they explored."""
    one, mask = np.ones(1), np.ones((1, 2), dtype=np.int8)
    for place, reward, cut, explored in rows:
        here = np.array([[float(place)]])
        steps = (np.array([place]), here, mask, np.zeros(1, dtype=np.int64), np.array([reward]), one * 2.0)
        agent.learn(sj.agents.Transitions(*steps, here, mask, np.array([cut]), np.array([explored])))


def returns(agent: Any) -> list[float]:
    """Return the reward of the return that begins at each remembered step, with its duration checked."""
    learned, found = agent.learned, []
    for at in range(min(learned.counts[0], len(learned.replay.rewards))):
        learned.begun[0] = at
        _look_ahead(learned)
        found.append(float(learned.paid[0]))
        assert learned.lasted[0] == 2.0 * len(f"{learned.paid[0]:.0f}".replace("0", ""))
    return found


def test_a_return_has_the_steps_that_followed() -> None:
    """It goes on at its own place, up to `lookahead` steps, until one that explored, and not beyond a cut.

    Rewards are powers of ten, so a return says which steps are in it.
    """
    agent = sj.deep_q(sj.agents.Spaces(1, 2, places=2), **SMALL, lookahead=3)
    greedy = [(place, 10.0 ** (2 * k + place), False, False) for k in range(4) for place in (0, 1)]
    greedy[4] = (*greedy[4][:2], True, False)  # the third step of place 0 is cut
    greedy[5] = (*greedy[5][:3], True)  # the third step of place 1 explored
    fed(agent, greedy)
    assert returns(agent) == [10101.0, 1010.0, 10100.0, 1000.0, 10000.0, 10100000.0, 1000000.0, 10000000.0]


def test_what_was_overwritten_is_in_no_return() -> None:
    """In a replay of three steps, no return contains a step that is no longer there, or one of another place."""
    agent = sj.deep_q(sj.agents.Spaces(1, 2, places=2), **SMALL, lookahead=9, replay=3)
    fed(agent, [(1, 1.0, False, False), *((0, 10.0**k, False, False) for k in range(1, 5))])
    assert returns(agent) == [11000.0, 10000.0, 11100.0]
    fed(agent, [(1, 1e5, False, False)])  # its step before this one has long been overwritten
    assert returns(agent) == [11000.0, 10000.0, 100000.0]


@pytest.mark.parametrize("hold", [1, 20])
def test_held_actions_keep_the_share_of_exploration(hold: int) -> None:
    """Three tenths of all steps explore, and an action that explores is held for up to `hold` steps.

    It is held for one step in half of all cases, and for three or more in a third.
    """
    agent = sj.deep_q(sj.agents.Spaces(1, 40, seed=1), **SMALL, exploration=0.3, hold=hold)
    here, mask = np.zeros((1, 1)), np.ones((1, 40), dtype=np.int8)
    best = int(agent.greedy(here, mask)[0])
    taken = [int(agent.draw(here, mask)[0][0]) for _ in range(15_000)]
    lengths, last = [0], best
    for action in taken:  # with forty actions, the same one is hardly ever drawn twice in a row
        if action != best and action == last:
            lengths[-1] += 1
        elif action != best:
            lengths.append(1)
        last = action
    held = np.array(lengths[1:])
    assert held.sum() / len(taken) == pytest.approx(0.3 * 39 / 40, abs=0.03)
    if hold == 1:
        assert np.mean(held == 1) > 0.95
    else:
        assert max(held) >= 20
        assert np.mean(held >= 2) == pytest.approx(1 / 2, abs=0.05)
        assert np.mean(held >= 3) == pytest.approx(1 / 3, abs=0.05)


def test_held_actions_get_further() -> None:
    """Chance reaches the end of a corridor of forty cells within a few hundred steps; single steps do not."""
    mask = np.ones((1, 2), dtype=np.int8)
    reached = []
    for hold in (1, 30):
        cells = []
        for seed in range(5):
            agent = sj.deep_q(sj.agents.Spaces(1, 2, seed=seed), **SMALL, exploration=1.0, hold=hold)
            cell, furthest = 0, 0
            for _ in range(400):
                cell = max(0, cell + 2 * int(agent.draw(np.array([[float(cell)]]), mask)[0][0]) - 1)
                furthest = max(furthest, cell)
            cells.append(furthest)
        reached.append(sorted(cells)[2])
    assert reached[0] < 40 < reached[1]


def test_units_last_as_long_as_what_is_remembered() -> None:
    """A fall that is remembered counts in the unit of rewards, however long ago it was; in 0.2 the unit had forgotten it."""
    units = []
    for unit_steps in (20, 100_000):
        agent = sj.deep_q(
            sj.agents.Spaces(1, 2),
            **{**SMALL, "warm_up": 1000},
            unit_steps=unit_steps,
            rate=sj.rates.Fixed(0.0),
        )
        fed(agent, [(0, -float(k < 10), False, False) for k in range(1000)])
        units.append(float(agent.learned.earnings.unit[0]))
    assert units[0] < 1e-9
    assert units[1] == pytest.approx(0.1)


class Noise(gym.Env[Any, Any]):
    """Nothing that is seen or done matters; rewards are noise around 0."""

    observation_space = gym.spaces.Box(-1.0, 1.0, (2,))
    action_space: Any = gym.spaces.Discrete(8)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return self._seen(), {}

    def step(self, action: Any) -> Any:
        return self._seen(), float(self.np_random.normal()), False, False, {"duration": 1.0}

    def _seen(self) -> Any:
        return self.np_random.uniform(-1.0, 1.0, 2).astype(np.float32)


@pytest.mark.compiled
def test_long_returns_overestimate_less() -> None:
    """Where the gain is 0, the rate that values are learned with is too high, and less so with returns of five steps."""
    excess = []
    for lookahead in (1, 5):
        options: Any = {"lookahead": lookahead, "hidden": (16,), "batch": 16, "exploration": 0.1}
        learner = sj.Learner(Noise(), sj.deep_q, **options, precision="double", step_size=0.003, seed=0)
        learner.train(5000)
        excess.append(learner.rate)
    assert 0.0 < excess[1] < 0.75 * excess[0]
