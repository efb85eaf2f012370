"""Every number of every kind of saved learner can be edited: the file is refused in one sentence, or the run is like any other."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from counting import Counted
from fuzz.edits import Tried, kinds, tried
from sojourn.rules.elementary import cos, exp, exp10, sin
from sojourn.rules.kernel import kernel

COMPILED = (
    "planner in a maze",
    "h_learning",
    "rvi_q",
    "tile_q",
    "tile_q hashed",
    "deep_q",
    "ppo",
    "ppo with points",
    "sac",
)
# Places in files that once ended the process, hung, or were read or written outside an array.
FOUND = (
    "planner in a maze: agent.counts.links[2 of ", "planner in a maze: agent.counts.pairs[5 of ",
    "planner in a maze: agent.course.steps = ", "smart: totals.steps = ", "tile_q: learned.values.cut.tiles[",
    "tile_q unbounded: learned.values.box.low[", "deep_q: learned.counts[", "deep_q: learned.network.widths[",
    "deep_q: learned.replay.actions[0 of ", "deep_q with masks: learned.replay.next_allowed[0 of ", "deep_q: lanes.allowed",
    "ppo: learned.counts[", "ppo: learned.critic.widths[", "ppo: learned.rollout.places[0 of ",
    "ppo: learned.rollout.choices[0 of ", "ppo: options.epochs", "ppo: learned.policy.weights[0 of ",
    "world seasons: place.place.held.2", "world seasons: place.place.held.8",
    "smart with masks: drawn.0",
)  # fmt: skip


def failures(results: list[Tried]) -> list[Tried]:
    """Return what must not be."""
    return [one for one in results if one.outcome not in ("refused", "ran")]


def test_edited_files_are_refused_or_run() -> None:
    """A sample of the edits, and all edits of the places at which something was once wrong; some of both kinds are there."""
    chosen = [
        *dict.fromkeys(place.partition(":")[0] for place in FOUND),
        "h_learning with masks",
        "policy file with masks",
    ]
    results = tried(chosen, every=499, found=FOUND)
    assert failures(results) == []
    assert {
        place for place in FOUND if not any(f"{one.kind}: {one.where}".startswith(place) for one in results)
    } == set()
    assert min(Counter(one.outcome for one in results)[outcome] for outcome in ("refused", "ran")) >= 50


@pytest.mark.evidence
def test_every_number_of_every_kind_of_file(counted: Counted) -> None:
    """A quarter of all edits of all kinds, so that every number gets several values; interpreted, which checks all places."""
    results = tried(list(kinds(compiled=False)), every=4, found=FOUND)
    assert failures(results) == []
    counted("numbers edited in saved learners", tried=len(results), failed=len(failures(results)))


@pytest.mark.evidence
def test_edited_files_in_compiled_code(counted: Counted) -> None:
    """Compiled with Numba's own check of bounds, no place is outside an array either."""
    results = tried(COMPILED, every=5, found=FOUND, checked=True)
    assert failures(results) == []
    counted("numbers edited in saved learners", tried=len(results), failed=len(failures(results)))


@kernel
def _of_nan(out: np.ndarray[tuple[int], np.dtype[np.float64]], x: float) -> None:
    out[0], out[1], out[2], out[3] = exp(x), exp10(x), sin(x), cos(x)


def test_no_nan_becomes_a_place_in_a_table() -> None:
    """Exp and its like return NaN of NaN, compiled and interpreted; exp would look outside its table of powers."""
    for run in (_of_nan, _of_nan.python):
        out = np.zeros(4)
        run(out, math.nan)
        assert np.isnan(out).all()
