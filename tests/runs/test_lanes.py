"""Runs in lanes give the same numbers as single runs."""

from __future__ import annotations

import functools
import itertools
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import CancelledError
from typing import Any, NamedTuple

import numpy as np
import pytest

import sojourn as sj
from sojourn.agents.catalogue import AGENTS
from sojourn.agents.learning import LearningAgent
from sojourn.agents.methods import Relative
from sojourn.rates.catalogue import ESTIMATORS
from sojourn.rules.jit import compiler
from sojourn.rules.kernel import kernel
from sojourn.rules.random import streams
from sojourn.rules.values import LANES, copied, same, stacked
from sojourn.runs import lanes
from sojourn.runs.batch import LANES_PAY, Batch, no_curves, no_rows, run_batch
from sojourn.runs.lanes import LaneGroup, chunks, lane_group, run_in_lanes
from sojourn.runs.loop import ready
from sojourn.runs.progress import StopFlag
from sojourn.runs.recording import Course, Length, Recording, evenly_spaced
from sojourn.worlds.protocol import extent

PRICES = 100.0 + np.cumsum(np.random.default_rng(0).standard_normal(200))


def market(duration: str) -> Any:
    """Return a market of 199 bars, in which states repeat."""
    return sj.worlds.Market(PRICES[:-1], PRICES[1:], state_size=2, duration=duration)


WORLDS = {
    "two_state": sj.worlds.TwoState(log_scale=1e-2),
    "scaled": market("scaled"),
    "random": market("random"),
}


class Swayed(NamedTuple):
    """A world that falsely claims to be unaffected by actions: from step 20 on, action 1 leads to state 1."""

    t: int = 0
    num_states: int = 2
    num_actions: int = 2


@sj.start.register
def start_swayed(world: Swayed, rng: Any) -> tuple[Swayed, int]:
    return Swayed(0, world.num_states, world.num_actions), 0


@sj.step.register
def step_swayed(world: Swayed, state: int, action: int, rng: Any) -> tuple[Swayed, int, float, float]:
    after = Swayed(world.t + 1, world.num_states, world.num_actions)
    return after, action if world.t >= 20 else 0, 1.0 + action, 1.0


@sj.worlds.is_unswayed.register
def is_unswayed_swayed(world: Swayed) -> bool:
    return True


class Breaking(NamedTuple):
    """A world in which action 1 pays an infinite reward at step 20."""

    t: int = 0
    num_states: int = 1
    num_actions: int = 2


@sj.start.register
def start_breaking(world: Breaking, rng: Any) -> tuple[Breaking, int]:
    return Breaking(0, world.num_states, world.num_actions), 0


@sj.step.register
def step_breaking(world: Breaking, state: int, action: int, rng: Any) -> tuple[Breaking, int, float, float]:
    reward = np.inf if action == 1 and world.t == 20 else 1.0
    return Breaking(world.t + 1, world.num_states, world.num_actions), 0, reward, 1.0


@sj.worlds.is_unswayed.register
def is_unswayed_breaking(world: Breaking) -> bool:
    return True


class Written(NamedTuple):
    """What running in lanes wrote, and the runs left to be made singly."""

    rows: Any
    curves: Any
    left: list[list[int]]


def in_lanes(
    world: Any, agents: list[Any], seeds: list[int], steps: int, episodes: int = 1, group: int = 1
) -> Written:
    """Make runs in lanes, interpreted."""
    prepared = [ready(world, agent) for agent in agents]
    world = prepared[0][0]
    rngs = np.array([streams(seed, 2) for seed in seeds])
    course = Course(steps * episodes, steps, *extent(world))
    runs = lane_group(world, stacked([copied(agent) for _, agent in prepared]), rngs, course)
    assert runs is not None
    rows = no_rows(len(seeds), world.num_states)
    curves = no_curves(len(seeds), Recording(evenly_spaced(course.until, 4), group))
    place = np.unique(seeds, return_inverse=True)[1]
    left = run_in_lanes(runs, place, curves, rows, StopFlag().flag, compiled=False)
    return Written(rows, curves, [some.tolist() for some in left])


def compare_with_single_runs(world: Any, agents: list[Any], seeds: list[int], steps: int) -> None:
    """Compare some runs in lanes with the single runs, both interpreted, bit for bit."""
    written = in_lanes(world, agents, seeds, steps, episodes=2)
    assert written.left == []
    rows, points = written.rows, evenly_spaced(2 * steps, 4)
    for row in (0, len(agents) // 2, len(agents) - 1):
        run = sj.run(world, agents[row], steps, 2, seed=seeds[row], record=points, compiled=False)
        for name in rows.totals._fields:
            assert same(getattr(rows.totals, name)[row].item(), getattr(run, name)), name
        assert same(float(rows.rates[row]), run.rate)
        assert rows.diverged[row] == run.diverged
        assert (rows.policies[row] == run.agent.q.argmax(axis=1)).all()
        assert same(written.curves.means[row], np.array(run.curve[1:]))


def kinds() -> Iterator[tuple[str, Any]]:
    """Yield an agent of each kind that learns as `LearningAgent` does, and one with each estimator."""
    for name, entry in AGENTS.items():
        if name != "oracle":  # which needs a model
            agent = entry.make(2, 2, **entry.options)
            if (
                type(agent) is LearningAgent
                and not isinstance(agent.method, Relative)
                and hasattr(agent.values, "q")
            ):
                yield name, functools.partial(entry.make, **entry.options)
    for name, estimator in ESTIMATORS.items():
        yield name, estimator


KINDS = dict(kinds())


def agents_of(kind: Any, num_states: int, ties: str = "random") -> list[Any]:
    """Return nine agents of a kind, with different step sizes."""
    if hasattr(kind, "has_step_size"):
        return [
            sj.smart(num_states, 2, step_size=0.1 * (i + 1), ties=ties)._replace(rate=kind.make())
            for i in range(9)
        ]
    return [kind(num_states, 2, step_size=0.1 * (i + 1), ties=ties) for i in range(9)]


@pytest.mark.parametrize(("name", "world"), list(zip(KINDS, itertools.cycle(WORLDS), strict=False)))
def test_lanes_equal_single_runs(name: str, world: str) -> None:
    """Every agent, and every estimator, gives the same bits in lanes and in single runs."""
    chosen = WORLDS[world]
    seeds = [5] * 9 if world == "two_state" else list(range(9))
    compare_with_single_runs(chosen, agents_of(KINDS[name], chosen.num_states), seeds, steps=10)


def test_surplus_lanes_are_harmless() -> None:
    """Runs that fill one chunk and only nine lanes of the next are right."""
    agents = [sj.harmonic_r(2, 2, step_size=0.01 * (i + 1)) for i in range(LANES + 9)]
    compare_with_single_runs(WORLDS["two_state"], agents, [3] * len(agents), steps=3)


def test_curves_are_means_in_the_order_of_their_runs() -> None:
    """The runs that share a curve are added in order, even though other runs are made in between."""
    world, seeds = WORLDS["two_state"], [1, 2] * 10
    agents = [sj.smart(2, 2, step_size=0.05 * (1 + i // 2)) for i in range(len(seeds))]
    written = in_lanes(world, agents, seeds, steps=10, group=2)
    assert written.left == []
    for cell in range(10):
        runs = [
            sj.run(world, agents[2 * cell], 10, seed=seed, record=evenly_spaced(10, 4), compiled=False)
            for seed in (1, 2)
        ]
        first, second = (np.array(run.curve[1:]) for run in runs)
        assert same(written.curves.means[cell], first + (second - first) / 2)


def test_a_false_claim_of_a_world_leaves_it_to_single_runs() -> None:
    """If the world's claim is false, nothing is written, and all runs are left to be made singly."""
    agents = [sj.smart(2, 2, step_size=0.1) for _ in range(9)]
    before = in_lanes(Swayed(), agents, list(range(9)), steps=20)
    assert before.left == []
    after = in_lanes(Swayed(), agents, list(range(9)), steps=21)
    assert after.left == [list(range(9))]
    assert not after.rows.totals.steps.any()


def test_a_step_that_breaks_the_rules_is_left_to_single_runs() -> None:
    """The error message then comes from the ordinary loop."""
    agents = [sj.smart(1, 2) for _ in range(9)]
    assert in_lanes(Breaking(), agents, list(range(9)), steps=30).left == [list(range(9))]


def batch_of(
    world: Any, agents: list[Any], seeds: list[int], length: Length, planned: int, group: int = 1
) -> Batch:
    """Run a batch as sweeps do; in lanes if enough steps are planned."""
    recording = Recording(evenly_spaced(length.total, 5), group)
    return run_batch(
        world, stacked([copied(agent) for agent in agents]), seeds, length, recording, None, planned
    )


def compare_batches(world: Any, agents: list[Any], seeds: list[int], length: Length, group: int = 1) -> None:
    """Compare compiled batches, in lanes and singly, bit for bit."""
    together = batch_of(world, agents, seeds, length, LANES_PAY, group)
    single = batch_of(world, agents, seeds, length, 0, group)
    for name in Batch._fields:
        one, other = getattr(together, name), getattr(single, name)
        assert (one == other).all() if name == "errors" else same(one, other), name


def test_compiled_batches_are_the_same_in_lanes() -> None:
    """Thousands of steps agree to the last bit in a deterministic world, with two seeds and mean curves."""
    agents = [sj.harmonic_r(2, 2, step_size=0.01 * (1 + i // 2)) for i in range(40)]
    compare_batches(sj.worlds.TwoState(log_scale=1e-3), agents, [0, 1] * 20, Length(1000, 4), group=2)


def test_compiled_batches_are_the_same_where_the_world_draws() -> None:
    """So they do in a world that draws random numbers, where each lane has its own stream."""
    agents = [sj.smart(4, 2, step_size=0.1) for _ in range(33)]
    compare_batches(market("random"), agents, list(range(33)), Length(199, 5))


@pytest.mark.parametrize("world", ["two_state", "random"])
def test_the_loop_over_lanes_is_vectorised(world: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM vectorises the loop over lanes, both where each action is tried once and where each lane draws.

    Otherwise all numbers would still be right, but lanes would be slower than single runs.
    """
    fresh = kernel(lanes.walk_lanes.python)
    monkeypatch.setattr(lanes, "walk_lanes", fresh)
    monkeypatch.setattr(compiler, "keep", lambda *_, **__: None)  # cached code could not be inspected
    chosen = WORLDS[world]
    agents = agents_of(sj.harmonic_r, chosen.num_states)
    batch_of(chosen, agents, [5] * 9, Length(10), LANES_PAY)
    (dispatcher,) = fresh._dispatchers.values()
    (code,) = dispatcher.inspect_llvm().values()
    functions = re.split(r"^define ", code, flags=re.MULTILINE)
    (loop,) = (function for function in functions if re.match(r"[^@\n]*@\w+_side_by_side", function))
    found = re.search(r"^vector\.body:.*?(?=^\S+:)", loop, re.MULTILINE | re.DOTALL)
    assert found, "LLVM has not vectorised the loop"
    assert re.search(r"fdiv <\d+ x double>", found[0])
    assert not re.search(r"f(div|mul|add|sub) double", found[0])


_WITHOUT_LANES = """
import sys
sys.modules["sojourn.rules.jit.lanes"] = None  # importing it is then an error
import numpy as np
import sojourn as sj
from sojourn.rules.values import stacked
from sojourn.runs.recording import Recording
from sojourn.runs.recording import Length
from sojourn.runs.batch import LANES_PAY, run_batch
agents = stacked([sj.harmonic_r(2, 2, step_size=0.01 * (1 + i)) for i in range(9)])
nothing = Recording(np.zeros(0, dtype=np.int64))
batch = run_batch(sj.worlds.TwoState(log_scale=1e-3), agents, [0] * 9, Length(1000), nothing, None, LANES_PAY)
print(batch.rates.tobytes().hex())
assert "sojourn.runs.lanes" not in sys.modules
"""


def test_batches_work_without_the_folder_of_lanes() -> None:
    """If `rules/jit/lanes` cannot be imported, runs are made singly, and a warning says so."""
    agents = [sj.harmonic_r(2, 2, step_size=0.01 * (1 + i)) for i in range(9)]
    expected = batch_of(sj.worlds.TwoState(log_scale=1e-3), agents, [0] * 9, Length(1000), 0)
    done = subprocess.run([sys.executable, "-c", _WITHOUT_LANES], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == expected.rates.tobytes().hex()
    assert "everything works, but takes longer without lanes" in done.stderr


def test_the_halt_flag_stops_lanes() -> None:
    """The halt flag stops runs in lanes as it stops single runs."""
    stop = StopFlag()
    stop.set()
    agents = stacked([sj.harmonic_r(2, 2) for _ in range(9)])
    nothing = Recording(np.zeros(0, dtype=np.int64))
    with pytest.raises(CancelledError):
        run_batch(sj.worlds.TwoState(log_scale=1e-3), agents, [0] * 9, Length(10), nothing, stop, LANES_PAY)


def group_of(agents: list[Any], world: Any, time: float = np.inf) -> LaneGroup | None:
    """Return runs as a lane group, or None."""
    rngs = np.array([streams(seed, 2) for seed in range(len(agents))])
    return lane_group(world, stacked(agents), rngs, Course(10, 10, *extent(world), time))


def test_what_lanes_cannot_take() -> None:
    """Not in lanes: worlds affected by actions, agents with loops or memory, runs that end at a time, and too few runs."""
    two_state = sj.worlds.TwoState(log_scale=1e-3)
    many = [sj.smart(2, 2) for _ in range(9)]
    assert group_of(many, two_state) is not None
    assert group_of(many[:7], two_state) is None
    assert group_of(many, two_state, time=100.0) is None
    assert group_of(many, sj.worlds.TwoState(log_scale=1e-3, clock="visits")) is None
    assert group_of(many, sj.worlds.Tabular(sj.problems.long_return())) is None
    for make in (sj.agents.rvi_q, sj.planner, sj.agents.h_learning):
        assert group_of([make(2, 2) for _ in range(9)], two_state) is None


@pytest.mark.parametrize("one_world", [True, False])
@pytest.mark.parametrize(("count", "group"), [(90, 30), (100, 1), (64, 2), (70, 7)])
def test_every_run_has_its_chunk(count: int, group: int, one_world: bool) -> None:
    """Each run is in exactly one chunk, with at most 31 others of the same world, and after its predecessors in its curve."""
    seeds = np.arange(count) % max(group, 4)
    together = LaneGroup(None, None, None, None, None, one_world)  # type: ignore[arg-type] # nothing else matters here
    made = chunks(together, seeds, group)
    order = np.concatenate(made)
    assert sorted(order.tolist()) == list(range(count))
    for some in made:
        assert len(some) <= LANES
        assert one_world or len(set(seeds[some].tolist())) == 1
    for curve in range(count // group):
        runs = [run for run in order.tolist() if run // group == curve]
        assert runs == sorted(runs)


@pytest.mark.evidence
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", KINDS)
def test_every_compiled_batch_is_the_same(name: str, world: str) -> None:
    """Every agent, with every estimator, in every such world, compiled, with both tie-breaking rules."""
    for ties in ("random", "lowest"):
        chosen = WORLDS[world]
        agents = agents_of(KINDS[name], chosen.num_states, ties) * 4
        seeds = [5] * 36 if world == "two_state" else list(range(36))
        compare_batches(chosen, agents, seeds, Length(199, 20))
