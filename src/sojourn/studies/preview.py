"""A first look at the two-state family: what the paper's three agents learn, at three difficulties.

The paper counts a run as a success if it ends with action B as the greedy one in state 0.
Whether B deserves that is another question, which the last two columns answer: the rates
that always taking A and always taking B would have earned on the very steps that were seen.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table

from sojourn.agents.named import harmonic_r, relaxed_smart, smart
from sojourn.many import run_many
from sojourn.means import ratio_of_means
from sojourn.random import stream
from sojourn.worlds.rules import start, step
from sojourn.worlds.two_state import TwoState

LOG_SCALES = (1e-4, 1e-3, 1e-2)


def preview(seeds: int, step_size: float, rate_step_size: float, steps: int, episodes: int) -> Table:
    """Return the table of what was learned."""
    common: dict[str, Any] = {"num_states": 2, "num_actions": 2, "step_size": step_size, "exploration": 0.2}
    agents = {
        "SMART": smart(**common),
        "Relaxed-SMART": relaxed_smart(**common, rate_step_size=rate_step_size),
        "Harmonic R-Learning": harmonic_r(**common, rate_step_size=rate_step_size),
    }
    table = Table(
        title=f"Two-state SMDP: {episodes} x {steps} steps, {seeds} seeds, step sizes {step_size:g}, {rate_step_size:g}",
        caption=(
            "ends with B: the greedy action in the end is B, which the paper calls success.\n"
            "rate: the learned one, median over seeds. A earns, B earns: reward per unit\n"
            "time of always taking that action, over the steps that were seen."
        ),
        caption_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("log-scale", justify="right", no_wrap=True)
    table.add_column("agent", no_wrap=True)
    for title in ("ends with B", "rate", "A earns", "B earns"):
        table.add_column(title, justify="right", no_wrap=True)
    for log_scale in LOG_SCALES:
        world = TwoState(log_scale=log_scale)
        runs = run_many(world, agents, seeds, steps, episodes)
        earned = [f"{realised_rate(world, action, steps):.3g}" for action in (0, 1)]
        for name in agents:
            rows = runs["agent"] == name
            table.add_row(
                f"{log_scale:g}",
                name,
                f"{(runs.policy[rows, 0] == 1).sum()} of {seeds}",
                f"{np.median(runs['rate'][rows]):.3g}",
                *earned,
            )
        table.add_section()
    return table


def realised_rate(world: Any, action: int, steps: int, seed: int = 0) -> float:
    """Return the reward per unit time of an episode in which every action is the same.

    >>> realised_rate(TwoState(log_scale=0.0), action=1, steps=2) == 10 / (11 + 1)
    True
    """
    rng = stream(seed)
    world, state = start(world, rng)
    rewards, durations = np.empty(steps), np.empty(steps)
    for k in range(steps):
        world, state, rewards[k], durations[k] = step(world, state, action, rng)
    return ratio_of_means(rewards, durations)
