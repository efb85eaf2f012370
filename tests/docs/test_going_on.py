"""Deep Q that goes on learning: what the page says is what was measured, in environments that are what it says."""

from __future__ import annotations

import numpy as np
import pytest

from site_builder import loaded

going_on = loaded("going_on")


def earned(task: str, variant: str = "default", key: str = "last") -> list[float]:
    """Return what the runs of a task earn."""
    return [run[key] for run in going_on.read() if (run["task"], run["variant"]) == (task, variant)]


def test_the_page_says_what_was_measured() -> None:
    """Every run that the script makes and that there is has a row, and no run is there twice."""
    runs = [(run["task"], run["variant"], run["seed"]) for run in going_on.read()]
    assert len(set(runs)) == len(runs) > 0
    assert set(runs) <= set(going_on.RUNS)
    assert len(going_on.table().splitlines()) == 2 + len({(task, variant) for task, variant, _ in runs})
    assert np.mean(earned("cart")) >= -0.0005 > max(earned("cart", "0.2"))
    assert min(earned("lander")) >= -0.1
    assert min(earned("car")) >= 0.006


def test_decisions_last_one_to_eight_frames() -> None:
    """Each pays 1 a frame, all lengths occur, and a fall costs 20."""
    env = going_on.TASKS["held cart"][1]()
    env.reset(seed=0)
    lengths = []
    for _ in range(300):
        _, reward, terminated, truncated, info = env.step(0)
        assert reward == info["duration"] - 20.0 * terminated
        if terminated or truncated:
            env.reset()
        else:
            lengths.append(info["duration"])
    assert set(lengths) <= set(range(1, 9))
    assert np.mean(np.array(lengths) == 1.0) == pytest.approx(0.25, abs=0.15)  # long ones fall


def test_the_top_pays_once() -> None:
    """MountainCar pays nothing on the way."""
    env = going_on.TASKS["car"][1]()
    env.reset(seed=0)
    assert [env.step(2)[1] for _ in range(50)] == [0.0] * 50
