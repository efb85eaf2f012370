"""Sweeps over every option of every kind, two values at a time: each cell has the numbers of a separate run.

The options come from the lists of agents, estimators and worlds. An option without two values here fails a test.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import json
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sojourn as sj
from counting import Counted
from sojourn.agents.catalogue import AGENTS as AGENTS_LISTED
from sojourn.agents.catalogue import NamedAgent
from sojourn.agents.exploration import TIES
from sojourn.agents.learning import READINGS
from sojourn.agents.methods import REFERENCES
from sojourn.data.hints import option_kinds, wants_list
from sojourn.models import save_model
from sojourn.models.problems import gosavi, long_return
from sojourn.rates.catalogue import ESTIMATORS
from sojourn.runs.batch import FIGURES
from sojourn.runs.build import build_agent, build_world
from sojourn.runs.catalogue import agent_kinds, world_kind, world_names
from sojourn.runs.store import tabulate
from sojourn.runs.tasks import execute, plan
from sojourn.worlds.continuous import Wear
from sojourn.worlds.market.world import DURATIONS
from sojourn.worlds.protocol import controlled, extent, observed
from sojourn.worlds.two_state import CLOCKS

STEPS, SEEDS = 300, [0, 3]
PROMISE = "pairs of values swept"

DECAY, LINEAR = {"start": 0.9, "factor": 0.99}, {"start": 0.9, "end": 0.1, "steps": 100}
VISITS, ADJUSTED = {"first": 1, "power": 0.6}, {"frequency_adjusted": 0.01}
SIZES = ("num_states", "num_inputs", "num_actions")

AGENTS: dict[str, Sequence[Any]] = {
    "step_size": (1, 0.5, VISITS, ADJUSTED),
    "rate_step_size": (1, 0.5, VISITS),
    "duration_step_size": (1, 0.25, VISITS),
    "exploration": (1, 0.5, DECAY, LINEAR),
    "greedy": READINGS,
    "ties": tuple(TIES),
    "initial": (0, 1.5),
    "centring": (0, 0.1),
    "rate": ("exponential", "time-forgetting", "cumulative"),  # the first two have the same fields
    "variant": ("paper", "gosavi"),
    "durations": ("known", "ignored"),
    "reference": REFERENCES,
    "discount_rate": (1, 0.001),
    "confidence": (1, 0.1),
    "level": (0.5, 0.1),
    "per": ("steps", "duration"),
    "quantile_step_size": (1, 0.25),
    "tilings": (2, 4),
    "tiles": (4, 5),
    "memory": (8, 1_000),
    "model": ("gosavi", "long-return"),
    "radius": (1, 0.01),
    "strength": (1, 0.001),
    "delta": (0.5, 1e-9),
    "lowest": (-100, -0.5),
    "highest": (100, 8.5),
    "shortest": (0, 0.5),
    "longest": (100, 2.5),
}
OWN_OF_AGENTS: dict[tuple[str, str], Sequence[Any]] = {
    ("smart", "rate"): tuple(ESTIMATORS),
    ("red_cvar", "variant"): ("gradient", "published"),
    ("fixed_rate", "rate"): (0, 1.5, "cumulative", {"kind": "time-smoothed", "step_size": 0.1}),
}
GIVEN: dict[str, dict[str, Any]] = {"oracle": {"model": "gosavi"}}
OF_LISTS = {"bounds"}  # options whose values are lists, which a sweep would read as several choices
REFUSED = {
    ("smdp_q_learning", "centring"),
    ("rvi_q", "centring"),
}  # options that may only be omitted or 0

# Prior knowledge must be consistent: a block in progress takes time, and a mean rate has transitions.
BEGUN = {("AdaptiveRatio", "pending"): {"duration": 1}, ("MeanOfRates", "rate"): {"transitions": 1}}

WORLDS: dict[tuple[str, str], Sequence[Any]] = {
    ("two_state", "clock"): CLOCKS,
    ("two_state", "log_scale"): (0.001, 1),
    ("market", "duration"): DURATIONS,
    ("market", "segment_length"): (1000, 200),
    ("market", "lowest"): (-0.1, -0.05),
    ("market", "highest"): (0.1, 0.05),
    ("four_rooms", "goal"): ("east", "west"),
    ("pay_rise", "hold"): (50, 100),
    ("heavy_tails", "hold"): (50, 100),
    ("rush_hours", "hold"): (50, 100),
    ("rotting_bait", "bait_floor_after"): (2000, 20),
    ("two_state", "duration_floor"): (0.001, 0.9),
    ("ratio_vs_step_rate", "chance"): (0.01, 0.5),
    ("random_changes", "number"): (0, 3),
}
GIVEN_TO_WORLDS: dict[str, dict[str, Any]] = {  # so that the option matters within a few steps
    "pay_rise": {"hold": 50},
    "heavy_tails": {"hold": 50},
    "rush_hours": {"hold": 50},
    "river_swim": {"num_states": 3},
    "market": {"duration": "scaled"},
}
FILES = {("market", option) for option in ("data", "fill", "repair")} | {("model", "data")}
NO_EFFECT = {
    ("market", "repair"),  # sound bars need no repair
    # If all values start equal, only their differences matter.
    *itertools.product(
        (
            "smart",
            "relaxed_smart",
            "harmonic_r",
            "weighted_harmonic_r",
            "fixed_rate",
            "h_learning",
            "red_cvar",
        ),
        ("initial",),
    ),
}


def options_of_agents() -> Iterator[tuple[str, str]]:
    for kind, agent in agent_kinds().items():
        yield from ((kind, option) for option in option_kinds(agent.make) if option not in SIZES)


def options_of_estimators() -> Iterator[tuple[str, str]]:
    for name, estimator in ESTIMATORS.items():
        yield from ((name, option) for option in option_kinds(estimator.kind))


def options_of_worlds() -> Iterator[tuple[str, str]]:
    for name in world_names():
        kind = world_kind(name)
        yield from ((name, option) for option in option_kinds(kind.make) if option not in kind.not_options)


# --- Two values for every option ----------------------------------------------------


def values_of_agent(kind: str, option: str) -> Sequence[Any]:
    return OWN_OF_AGENTS.get((kind, option)) or AGENTS.get(option, ())


def values_of_estimator(name: str, option: str) -> Sequence[Any]:
    """Return an estimator twice, as a sweep writes it, with two values of one option; none if it is no number."""
    if option_kinds(ESTIMATORS[name].kind)[option] is not float:
        return ()
    given = {"kind": name, **BEGUN.get((name, option), {})}
    tables = [[{**given, option: number} for number in pair] for pair in ((1, 0.5), (0.5, 0.25), (0, 1))]
    return next((pair for pair in tables if all(builds("smart", rate=rate) for rate in pair)), ())


def builds(kind: str, **options: Any) -> bool:
    try:
        build_agent(kind, options, 2, 2)
    except (ValueError, TypeError):
        return False
    return True


def values_of_world(name: str, option: str, folder: Path) -> Sequence[Any]:
    """Return two values that a world can be made with: those written here, or the default and one near it."""
    if (name, option) in FILES:
        return files(name, option, folder)
    given = given_to_world(name, option, folder)
    made = (value for value in near(name, option) if can_be_made(name, {**given, option: value}))
    return list(made if (name, option) in WORLDS else itertools.islice(made, 2))


def near(name: str, option: str) -> Sequence[Any]:
    """Return values to try for an option of a world; none if none are listed."""
    kind = option_kinds(world_kind(name).make)[option]
    default = inspect.signature(world_kind(name).make).parameters[option].default
    if (name, option) in WORLDS:
        return WORLDS[name, option]
    if kind is bool:
        return False, True
    if typing.get_origin(kind) is typing.Literal:
        return typing.get_args(kind)
    if kind is int:
        return default, default + 1, default - 1
    return tuple(dict.fromkeys((default, default / 2, default * 1.1, 0.5))) if kind is float else ()


def given_to_world(name: str, option: str, folder: Path) -> dict[str, Any]:
    """Return the options that a world needs besides the swept one."""
    needs_file = (name, option) in {("model", "actions"), ("market", "fill"), ("market", "repair")}
    data = {"data": files(name, "data", folder)[-1]} if needs_file else {}
    return {**world_kind(name).example, **GIVEN_TO_WORLDS.get(name, {}), **data}


def can_be_made(name: str, options: Mapping[str, Any]) -> bool:
    try:
        build_world(name, options)
    except (ValueError, TypeError):
        return False
    return True


def files(name: str, option: str, folder: Path) -> Sequence[Any]:
    """Return values of an option that needs files: their paths, or how to treat a file with a gap."""
    if name == "model":
        paths = [folder / "one.json", folder / "other.json"]
        for path, model in zip(paths, (gosavi(), long_return()), strict=True):
            save_model(model, path)
        return [str(path) for path in paths]
    bars = folder / "bars.csv"
    rng = np.random.default_rng(0)
    prices = 100.0 + rng.normal(size=(STEPS * 3, 2)).cumsum(axis=0).round(2)
    rows = [
        f"{1_325_412_060 + 60 * i},{o},{max(o, c)},{min(o, c)},{c},1"
        for i, (o, c) in enumerate(prices.tolist())
        if i != 7
    ]
    bars.write_text("\n".join(["Timestamp,Open,High,Low,Close,Volume", *rows, ""]))
    return ["synthetic", str(bars)] if option == "data" else [0, 5] if option == "fill" else [False, True]


def test_every_option_has_two_values() -> None:
    """Every option of a listed agent, estimator or world is tested below, unless no sweep can express its values."""
    lacking = [
        f"{kind}: {option}"
        for kind, option in options_of_agents()
        if len(values_of_agent(kind, option)) < 2 and option not in OF_LISTS
    ]
    for name, option in options_of_estimators():
        if option_kinds(ESTIMATORS[name].kind)[option] is float and not values_of_estimator(name, option):
            lacking.append(f"{name}: {option}")
    for name, option in options_of_worlds():
        takes_lists = wants_list(option_kinds(world_kind(name).make)[option])
        if not takes_lists and (name, option) not in FILES and len(near(name, option)) < 2:
            lacking.append(f"{name}: {option}")
    assert not lacking


# --- A sweep of two cells, and the same cells alone ---------------------------------


def swept(world: sj.runs.Entry, agent: sj.runs.Entry) -> pl.DataFrame:
    """Return the results of a sweep of a few runs, in the order of its table."""
    sweep = sj.runs.Sweep([world], [agent], seeds=SEEDS, steps=STEPS)
    rows = pl.concat([tabulate(task, execute(task).batch, 0.0)[0] for task in plan(sweep)])
    return rows.select("cell", "seed", *FIGURES, "policy", "error")


@functools.cache
def alone(world: str, agent: str) -> pl.DataFrame:
    """Return the same for a sweep of one cell, whose numbers are those of `run`."""
    (world_name, world_options), (kind, options) = json.loads(world), json.loads(agent)
    rows = swept(sj.runs.Entry(world_name, world_options), sj.runs.Entry(kind, options))
    made = build_world(world_name, world_options)
    for row in rows.iter_rows(named=True):
        run = sj.run(
            made,
            build_agent(kind, options, *extent(made)),
            STEPS,
            seed=row["seed"],
            record=0,
            compiled=False,
        )
        assert row["error"] is None
        np.testing.assert_array_equal(
            [row[name] for name in FIGURES], [getattr(run, name) for name in FIGURES]
        )
        if observed(made) is None:
            assert row["policy"] == run.policy.tolist()
    return rows


def wrong_pairs(
    values: Sequence[Any], world: Callable[[Any], sj.runs.Entry], agent: Callable[[Any], sj.runs.Entry]
) -> tuple[int, list[Any], bool]:
    """Sweep pairs of values in both orders; return their number, the pairs that differ from single cells, and whether any values differ."""
    singles = [
        alone(*(json.dumps([entry.kind, entry.options]) for entry in (world(value), agent(value))))
        for value in values
    ]
    several = {json.dumps(value): single for value, single in zip(values, singles, strict=True)}
    wrong = []
    pairs = list(itertools.permutations(values, 2))
    for pair in pairs:
        expected = pl.concat([several[json.dumps(value)] for value in pair])
        if not swept(world(list(pair)), agent(list(pair))).equals(expected):
            wrong.append(pair)
    figures = [single.drop("cell") for single in singles]
    return len(pairs), wrong, any(not figures[0].equals(other) for other in figures[1:])


def _same(entry: sj.runs.Entry, _: Any) -> sj.runs.Entry:
    return entry


def with_option(kind: str, given: Mapping[str, Any], option: str) -> Callable[[Any], sj.runs.Entry]:
    return lambda value: sj.runs.Entry(kind, {**given, option: value})


def sweep_agent(kind: str, option: str, values: Sequence[Any]) -> tuple[int, list[Any], bool]:
    is_tiles = kind.startswith("tile_")
    world = sj.runs.Entry("wear") if is_tiles else sj.runs.Entry("gosavi")
    given: dict[str, Any] = {"tilings": 2, "tiles": 4} if is_tiles else GIVEN.get(kind, {})
    if "step_size" in option_kinds(agent_kinds()[kind].make):
        given = {"step_size": 0.5, **given}  # so that every option matters within a few steps
    return wrong_pairs(values, functools.partial(_same, world), with_option(kind, given, option))


@pytest.mark.parametrize(
    ("kind", "option", "values"),
    [
        ("rvi_q", "reference", ("maximum", "mean")),
        ("r_learning", "durations", ("known", "ignored")),
        ("smart", "rate", ("exponential", "time-forgetting")),
        ("fixed_rate", "rate", (0, 1.5, "exponential")),
        pytest.param("smart", "step_size", (1, 0.5, VISITS), marks=pytest.mark.compiled),
        ("tile_q", "tilings", (2, 4)),
    ],
)
@pytest.mark.interpreted  # types of numbers matter to the compiler, so one of them is compiled, and with `evidence` all
def test_two_values_of_an_option(kind: str, option: str, values: Sequence[Any]) -> None:
    """Cells whose agents differ in type, dtype or array shape have the same numbers as alone."""
    tried, wrong, differ = sweep_agent(kind, option, values)
    assert tried == len(values) * (len(values) - 1)
    assert not wrong
    assert differ


@pytest.mark.interpreted
def test_types_that_alternate() -> None:
    """Rows and mean curves are in grid order, whichever agents were batched together."""

    def tables(step_sizes: list[float], references: list[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
        agent = sj.runs.Entry("rvi_q", {"step_size": step_sizes, "reference": references})
        worlds = [sj.runs.Entry("gosavi", {"actions": ["given", "reversed"]})]
        sweep = sj.runs.Sweep(worlds, [agent], seeds=SEEDS, steps=STEPS, record=4, curves="mean")
        (task,) = plan(sweep)
        rows, curves = tabulate(task, execute(task).batch, 0.0)
        assert curves is not None
        return rows, curves

    choices = [0.5, 0.25], ["maximum", "mean"]
    together = tables(*choices)
    apart = [tables([step_size], [reference]) for step_size, reference in itertools.product(*choices)]
    for found, several in zip(together, zip(*apart, strict=True), strict=True):
        assert found.n_unique("cell") == 8
        for one in several:  # each has the cells of two worlds
            assert found.filter(pl.col("cell").is_in(one["cell"].implode())).equals(one)
    columns = together[0].select("step_size", "reference").unique(maintain_order=True)
    assert columns.rows() == list(itertools.product(*choices))


def test_tables_of_whole_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a sweep, an agent with an integer table learns as in `run`, without rounding."""

    def whole(num_states: int, num_actions: int, *, start: float = 0.0) -> Any:
        begun = np.full((num_states, num_actions), start)
        made = sj.smart(num_states, num_actions, rate=sj.Exponential(0.5))
        return made._replace(values=sj.agents.Table(begun.astype(np.int64) if start == 1.0 else begun))

    monkeypatch.setitem(AGENTS_LISTED, "whole", NamedAgent("whole", "whole", whole, None))
    tried, wrong, _ = sweep_agent("whole", "start", (1, 0.5))
    assert (tried, wrong) == (2, [])


@pytest.mark.evidence
@pytest.mark.interpreted
def test_batches_of_agents_whose_arrays_differ() -> None:
    """`run_many` takes agents whose arrays differ in shape."""
    agents = [sj.tile_q(1, 2, bounds=([0.0], [1.0]), tilings=tilings, tiles=4) for tilings in (2, 4, 2)]
    # With so many seeds, one batch has runs of two agents.
    everybody: list[list[Any]] = [agents, *([agent] for agent in agents)]
    runs, *alone = (sj.run_many(Wear(), some, seeds=10, steps=STEPS, jobs=1)["reward"] for some in everybody)
    np.testing.assert_array_equal(runs, np.concatenate(alone))


@pytest.mark.evidence
@pytest.mark.filterwarnings("ignore:.*diverged:RuntimeWarning")
@pytest.mark.parametrize("kind", sorted({kind for kind, _ in options_of_agents()}))
def test_every_option_of_an_agent(kind: str, counted: Counted) -> None:
    """Every option of every agent: cells have the same numbers as alone."""
    for option in (option for other, option in options_of_agents() if other == kind):
        if option in OF_LISTS:
            continue
        if (kind, option) in REFUSED:
            with pytest.raises(ValueError, match="leave it out"):
                sweep_agent(kind, option, values_of_agent(kind, option))
            continue
        tried, wrong, differ = sweep_agent(kind, option, values_of_agent(kind, option))
        assert differ or (kind, option) in NO_EFFECT, f"{option} changes nothing, so the sweep shows nothing"
        assert not wrong, f"{option}: {wrong}"
        counted(PROMISE, tried=tried, failed=len(wrong))


@pytest.mark.evidence
@pytest.mark.filterwarnings("ignore:.*diverged:RuntimeWarning")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_option_of_an_estimator(name: str, counted: Counted) -> None:
    """Every option of every estimator: cells have the same numbers as alone."""
    for option in (option for other, option in options_of_estimators() if other == name):
        values = values_of_estimator(name, option)
        if values:
            tried, wrong, differ = sweep_agent("smart", "rate", values)
            assert differ, f"{option} changes nothing, so the sweep shows nothing"
            assert not wrong, f"{option}: {wrong}"
            counted(PROMISE, tried=tried, failed=len(wrong))


@pytest.mark.evidence
@pytest.mark.parametrize("name", world_names())
def test_every_option_of_a_world(name: str, counted: Counted, tmp_path: Path) -> None:
    """Every option of every world: cells have the same numbers as alone; lists and continuous actions are refused."""
    kinds = option_kinds(world_kind(name).make)
    for option in (option for other, option in options_of_worlds() if other == name):
        if wants_list(kinds[option]):
            with pytest.raises(TypeError, match="a sweep takes a list for several choices"):
                sj.runs.Sweep(
                    [sj.runs.Entry(name, {option: 1.0})], [sj.runs.Entry("smart")], seeds=SEEDS, steps=STEPS
                )
            continue
        values = values_of_world(name, option, tmp_path)
        given = given_to_world(name, option, tmp_path)
        made = build_world(name, {**given, option: values[0]})
        agent = sj.runs.Entry("smart")
        if observed(made) is not None:
            agent = sj.runs.Entry("tile_q", {"tilings": 2, "tiles": 4})
        if controlled(made) is not None:
            with pytest.raises(ValueError, match="num_actions is 0"):
                swept(sj.runs.Entry(name, {option: list(values)}), agent)
            continue
        made_with = with_option(name, given, option)
        tried, wrong, differ = wrong_pairs(values, made_with, functools.partial(_same, agent))
        assert differ or (name, option) in NO_EFFECT, f"{option} changes nothing, so the sweep shows nothing"
        assert not wrong, f"{option}: {wrong}"
        counted(PROMISE, tried=tried, failed=len(wrong))
