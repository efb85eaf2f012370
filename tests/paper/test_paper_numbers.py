"""The paper's two studies still give their numbers from before agents could choose how ties are broken."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

import sojourn as sj
from sojourn.runs.build import build_agent, build_world
from sojourn.runs.spec import Sweep
from sojourn_paper.bitcoin import plan as bitcoin
from sojourn_paper.robustness import plan as robustness

# Computed with version 2 of the rules, where ties always went to the lowest action.
NUMBERS = {"robustness": "a34623999f3a2e33", "bitcoin": "42c8a73dd4c8960a"}


def studies() -> dict[str, tuple[Sweep, int]]:
    """Both studies, with the number of steps to take in each."""
    source = bitcoin.Source(segment_length=3000)
    return {
        "robustness": (robustness.specification(seeds=1), 1000),
        "bitcoin": (bitcoin.specification(source, seeds=1, state_sizes=(3,), chosen=(0,)), 3000),
    }


@pytest.mark.filterwarnings("ignore:.*diverged")  # R-Learning with the largest step sizes
@pytest.mark.parametrize("name", NUMBERS)
def test_the_studies_give_the_numbers_of_version_2(name: str) -> None:
    """Values, rates, rewards and accepted steps are bit for bit the same."""
    sweep, steps = studies()[name]
    digest = hashlib.sha256()
    for entry in sweep.worlds:
        worlds = [build_world(entry.kind, options) for options in list(entry.grid())[::7]]
        for world in worlds:
            for agent in sweep.agents:
                for options in list(agent.grid())[::57]:
                    made = build_agent(agent.kind, options, world.num_states, world.num_actions)
                    run = sj.run(world, made, steps, episodes=sweep.episodes, seed=3)
                    if run.diverged:
                        continue
                    figures = [run.rate, run.reward, run.duration, run.greedy_reward, run.greedy_steps]
                    digest.update(run.agent.q.tobytes() + np.array(figures, dtype=np.float64).tobytes())
    assert digest.hexdigest()[:16] == NUMBERS[name]
