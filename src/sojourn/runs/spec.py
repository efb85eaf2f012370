"""A sweep as data: worlds, agents, the grids of their options, and seeds; read from TOML or made in Python.

    name = "first-look"
    seeds = 5                                   # 0 to 4, or a list
    steps = 1000                                # or a list of lengths
    time = 500.0                                # or a list: a run ends then, or after `steps` steps if that is earlier
    episodes = 4
    record = 0                                  # points of each run's curve
    spacing = "log"                             # of the points, or "even"
    curves = "each"                             # a curve for each run, or "mean": over the seeds of a cell
    policies = true                             # whether results hold the final policies

    [[world]]
    kind = "two-state"
    log_scale = { logspace = [1e-5, 1e-1, 30] }

    [[agent]]
    kind = "harmonic-r"
    step_size = { logspace = [1e-4, 1e-1, 20] }
    rate_step_size = [0.01, 0.1]
    exploration = { start = 0.2, factor = 0.999, floor = 0.01 }

    [[agent]]
    kind = "smart"                              # the step size of each pair, divided by how often it is visited
    step_size = { frequency_adjusted = 0.001 }

An option is a number or a word; a list, a `logspace` or a `linspace` (first, last, count) makes it an axis of its
world's or agent's grid. A *cell* is one world with one agent and all options fixed; a *run* is a cell with a seed.
Worlds with a natural length, such as a market, are run to their end if `steps` is not given.

    [[world]]
    kind = "market"
    data = "btcusd.parquet"                     # or "synthetic"
    segment = [0, 1, 2]
    duration = ["random", "scaled"]

A run of 100 steps is the beginning of the run of 1,000 with the same seed, so
`steps = [100, 1000]` shows how policies change. The named problems and models in
files are worlds too, and their results include the exact gain:

    [[world]]
    kind = "admission-control"
    capacity = [5, 20]
    actions = ["given", "reversed"]             # how they are numbered

    [[world]]
    kind = "model"
    data = "my-queue.toml"

Your own code can be named everywhere, as `package.module:name`, also from modules in the current folder. The option
`rate` names an estimator, yours or ours; it may have options of its own, which may be axes:

    [[world]]
    kind = "mine:Queue"                         # a world, or a function that returns a model
    [[agent]]
    kind = "mine:rvi"
    [[agent]]
    kind = "smart"
    label = "SMART, forgetting"
    rate = { kind = "mine:TimeForgetting", step_size = [0.01, 0.1] }

The id of a cell is a hash of everything that determines its numbers, including the version
of the rules: the same id means the same numbers, on any machine.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from sojourn.data.files import load_toml
from sojourn.data.hints import Choice, Given, Options
from sojourn.data.numbers import finite, listed, nearest, positive, shown, whole
from sojourn.rules.door import told
from sojourn.rules.elementary import exp10, log
from sojourn.rules.jit.identity import check_unedited
from sojourn.runs.build import build_agent, build_world
from sojourn.runs.catalogue import plain_kind, users_sources
from sojourn.runs.loop import unlike
from sojourn.runs.recording import MOST_POINTS, MOST_SEEDS, Length
from sojourn.worlds.market.instruments import identity
from sojourn.worlds.protocol import World, extent

Axis: TypeAlias = list[float] | list[int] | list[str] | list[bool] | list[Choice]
Axes: TypeAlias = Mapping[str, Choice | Axis]  # options; lists are axes

# Raise this when any rule gives different numbers than before. 2: an action of value -inf is not explored,
# which changes runs that diverged. 3: ties are broken at random unless an agent says ties="lowest", which changes
# every run whose values tie; Differential Q divides by at least a tenth of the mean duration.
# 4: TimeSmoothed has no bias towards its first value. 5: a sweep over an option that changes the type of an agent's
# part gives each cell its own numbers; before, all cells had those of the first. 6: centring has a guess and a unit of time
# that come to rest, and that know nothing of the step that is learned from; rvi_q and differential_q divide by plain means
# of the durations; AdaptiveRatio and ClippedExponential remember the noise between rare events. 7: deep Q learns from
# returns of several steps, and holds actions that explore.
RULES_VERSION = 7

MOST_RUNS = 100_000_000
SPACINGS, CURVES = ("log", "even"), ("each", "mean")
MOST_CHOICES = 10_000  # choices of an option: each is tried when the sweep is read
_SPACES = ("logspace", "linspace")
_OWN = ("spacing", "curves", "policies", "time")
_TOP = ("name", "seeds", "steps", "episodes", "record", *_OWN, "world", "agent")


# --- Grids: options of a world or an agent, some of them with several choices ---------


@dataclass(frozen=True)
class Entry:
    """A kind of world or agent and its options; lists are the axes of a grid.

    >>> entry = Entry("smart", {"step_size": [0.01, 0.1], "exploration": 0.2})
    >>> len(entry), list(entry.grid())[1]
    (2, {'step_size': 0.1, 'exploration': 0.2})
    """

    kind: str
    options: Axes = field(default_factory=dict)
    label: str = ""  # its name in the results; by default its kind

    def grid(self) -> Iterator[Options]:
        """Yield the options of every combination, in order."""
        axes = {name: choices(choice) for name, choice in self.options.items()}
        for combination in itertools.product(*axes.values()):
            yield dict(zip(axes, combination, strict=True))

    def samples(self) -> Iterator[Options]:
        """Yield a few combinations that cover every choice of every axis: enough to check them all."""
        first = next(self.grid())
        yield first
        for name, choice in self.options.items():
            for other in choices(choice)[1:]:
                yield {**first, name: other}

    def __len__(self) -> int:
        return math.prod(len(choices(choice)) for choice in self.options.values())


def choices(choice: Choice | Axis) -> Sequence[Choice]:
    """Return the choices of an option: its list, or the only one.

    >>> choices([1.0, 2.0]), choices("word")
    ([1.0, 2.0], ['word'])
    """
    return choice if isinstance(choice, list) else [choice]


def expand(given: Given) -> Choice | list[Choice]:
    """Return an option that TOML gives: a grid as the list it stands for, a whole number as a float.

    >>> expand({"linspace": [0, 1, 3]})
    [0.0, 0.5, 1.0]
    >>> expand({"logspace": [0.01, 100, 3]})
    [0.01, 1.0, 100.0]
    >>> expand({"kind": "time-smoothed", "step_size": [0.01, 0.1]})[1]
    {'kind': 'time-smoothed', 'step_size': 0.1}
    """
    if isinstance(given, list):
        if not given:
            raise ValueError("the list is empty; a grid needs at least one choice")
        if len(given) > MOST_CHOICES:
            raise ValueError(f"the list has {len(given):,} choices; a grid takes at most {MOST_CHOICES:,}")
        return _different([_choice(entry) for entry in given])
    if isinstance(given, dict) and "kind" in given:  # an estimator by name, which may have axes of its own
        inner = [[(key, _part(key, part)) for part in choices(expand(parts))] for key, parts in given.items()]
        tables: list[Choice] = [dict(chosen) for chosen in itertools.product(*inner)]
        return tables if len(tables) > 1 else tables[0]
    if isinstance(given, dict) and any(
        key in _SPACES or isinstance(part, list) for key, part in given.items()
    ):
        ((space, bounds), *more) = given.items()
        if more or space not in _SPACES:
            raise ValueError(f"{shown(given)} is not a grid{nearest(space, _SPACES)}")
        if not (isinstance(bounds, list) and len(bounds) == 3):
            raise ValueError(f"{space} takes [first, last, count], not {shown(bounds)}")
        return _different([*spaced(space, *bounds)])
    return _choice(given)


def _choice(given: Given) -> Choice:
    """Return one choice; an int becomes a float, so that 1 and 1.0 are the same choice."""
    if isinstance(given, bool | str):
        return given
    if isinstance(given, int | float):
        return finite("the number", given)
    if isinstance(given, dict) and isinstance(given.get("kind"), str):
        return {key: _part(key, part) for key, part in given.items()}
    if isinstance(given, dict) and all(isinstance(part, int | float) for part in given.values()):
        return {key: part if isinstance(part, bool) else finite(key, part) for key, part in given.items()}
    raise TypeError(f"{shown(given)} is neither a number nor a word nor a grid")


def _part(name: str, given: Given) -> float | str:
    return given if isinstance(given, bool | str) else finite(name, given)  # type: ignore[arg-type] # or refused


def _different(found: list[Choice]) -> list[Choice]:
    if len({json.dumps(entry, sort_keys=True) for entry in found}) != len(found):
        raise ValueError("the grid contains the same choice twice")
    return found


def spaced(space: str, first: float, last: float, count: int) -> list[float]:
    """Return `count` numbers from `first` to `last`: evenly spaced, or for "logspace" evenly in the logarithm.

    >>> spaced("linspace", 0, 1, 3)
    [0.0, 0.5, 1.0]
    """
    count = whole("count", count, most=MOST_CHOICES)
    first, last = finite("first", first), finite("last", last)
    if space == "logspace" and min(first, last) <= 0:
        raise ValueError("the ends of logspace must be greater than 0")
    if count == 1:
        return [first]
    if space == "linspace":
        inner = [first + (last - first) * i / (count - 1) for i in range(1, count - 1)]
    else:
        low, high = log(first) / log(10.0), log(last) / log(10.0)
        inner = [exp10(low + (high - low) * i / (count - 1)) for i in range(1, count - 1)]
    return [first, *inner, last]


# --- Sweeps -------------------------------------------------------------------------


@told
@dataclass(frozen=True)
class Sweep:
    """All worlds with all agents and all seeds. Constructing a sweep checks every option.

    >>> worlds = [Entry("two_state", {"log_scale": [1e-3, 1e-2]})]
    >>> sweep = Sweep(worlds, [Entry("smart"), Entry("harmonic_r")], seeds=[0, 1, 2], steps=1000)
    >>> sweep.num_cells, sweep.num_runs, sweep.num_steps
    (4, 12, 12000)
    """

    worlds: list[Entry]
    agents: list[Entry]
    seeds: list[int]
    steps: int | list[int] | None = None  # one length or several; by default the worlds' natural lengths
    episodes: int = 1
    record: int = 0
    name: str = "sweep"
    spacing: str = "log"
    curves: str = "each"
    policies: bool = True
    time: float | list[float] | None = None  # one or several; a run ends then, or when its steps run out

    def __post_init__(self) -> None:
        for name, entries in (("world", self.worlds), ("agent", self.agents)):
            if not entries:
                raise ValueError(f"the sweep has no {name}; it needs at least one")
        self._check_numbers()
        for name, choice, known in (
            ("spacing", self.spacing, SPACINGS),
            ("curves", self.curves, CURVES),
            ("policies", self.policies, (True, False)),
        ):
            if type(choice) is not type(known[0]) or choice not in known:
                raise ValueError(f"{name} is {shown(choice)}; it must be {known[0]} or {known[1]}")
        labels = [entry.label or entry.kind for entry in self.agents]
        if len(set(labels)) != len(labels):
            raise ValueError("two agents have the same name in the results; give one of them a label")
        if self.num_runs > MOST_RUNS:
            raise ValueError(
                f"the sweep has {self.num_runs:,} runs; it may have at most {MOST_RUNS:,}, so take fewer choices or "
                "seeds, or make several sweeps"
            )
        _check_different("world", self.worlds)
        _check_different("agent", self.agents)
        self._check_options()

    def _check_numbers(self) -> None:
        for length in self.lengths or ():
            whole("steps", length)
        if self.steps is not None and len(set(self.lengths or ())) != len(self.lengths or (0,)):
            raise ValueError("steps is empty or contains the same length twice")
        if self.time is not None and not self.times:
            raise ValueError("time is empty; give at least one, or leave it out")
        for time in self.times:
            positive("time", time)
        if self.times and (self.episodes > 1 or not isinstance(self.steps, int)):
            raise ValueError(
                "a sweep with a time must have one episode and one number of steps, the most that a run may take"
            )
        if len(set(self.times)) != len(self.times):
            raise ValueError("time contains the same time twice")
        whole("episodes", self.episodes)
        whole("record", self.record, least=0, most=MOST_POINTS)
        seeds = [whole("seeds", seed, least=0) for seed in self.seeds]
        if max(max(self.lengths or [0]) * self.episodes, *seeds, 0) >= 2**63:
            raise ValueError("seeds and steps times episodes must be less than 2^63")
        if not seeds:
            raise ValueError("seeds is empty; the sweep needs at least one seed")
        if len(set(seeds)) != len(seeds):
            raise ValueError("seeds contains the same seed twice")

    def _check_options(self) -> None:
        """Build a world and an agent with every choice of every option, and check that they fit together."""
        worlds = []
        for index, entry in enumerate(self.worlds):
            with placed(f"world {index + 1} ({listed([entry.kind])})"):
                for options in entry.samples():
                    world = build_world(entry.kind, options)
                    if self.steps is None and not hasattr(world, "num_steps"):
                        raise ValueError("this world has no length of its own, so 'steps' is needed")
            worlds.append(world)
        for index, entry in enumerate(self.agents):
            with placed(f"agent {index + 1} ({listed([entry.kind])})"):
                for options in entry.samples():
                    build_agent(entry.kind, options, *extent(world))
                for each in worlds:
                    if wrong := unlike(each, build_agent(entry.kind, options, *extent(each))):
                        raise ValueError(wrong)
        for name in self.sources:
            check_unedited(name)

    @property
    def num_cells(self) -> int:
        """The number of cells."""
        lengths = len(self.lengths or [0]) * max(1, len(self.times))
        return sum(map(len, self.worlds)) * sum(map(len, self.agents)) * lengths

    @property
    def num_runs(self) -> int:
        """The number of runs."""
        return self.num_cells * len(self.seeds)

    @property
    def lengths(self) -> list[int] | None:
        """The episode lengths, if the sweep sets them."""
        return [self.steps] if isinstance(self.steps, int) else self.steps

    @property
    def times(self) -> list[float]:
        """The times at which runs end, if the sweep sets them."""
        return [] if self.time is None else self.time if isinstance(self.time, list) else [self.time]

    @functools.cached_property
    def num_steps(self) -> int:
        """The total number of steps of all runs; with a time, the largest possible number."""
        if self.lengths is not None:
            return self.num_runs // len(self.lengths) * sum(self.lengths) * self.episodes
        worlds = (build_world(entry.kind, options) for entry in self.worlds for options in entry.grid())
        total = sum(length.total for world in worlds for length in self.lengths_in(world))
        return total * sum(map(len, self.agents)) * len(self.seeds)

    def lengths_in(self, world: World) -> list[Length]:
        """Return the lengths of the runs in one world."""
        own: int = getattr(world, "num_steps", 0)  # used only if the sweep sets no steps
        steps = [int(own)] if self.lengths is None else self.lengths
        if self.times:
            return [Length(steps[0], time=time) for time in self.times]
        return [Length(number, self.episodes) for number in steps]

    @functools.cached_property
    def sources(self) -> dict[str, str]:
        """The names of users' own code in the sweep, each with a hash of its source."""
        known: dict[str, str] = {}
        for entry in (*self.worlds, *self.agents):
            for options in entry.samples():
                known |= users_sources(entry.kind, options)
        return known

    def to_json(self) -> str:
        """Return the sweep as JSON, as its results folder stores it."""
        entries = {
            name: [
                {"kind": entry.kind, "label": entry.label, **_identified(entry.options)} for entry in group
            ]
            for name, group in (("world", self.worlds), ("agent", self.agents))
        }
        names = ("name", "seeds", "steps", "episodes", "record", "spacing", "curves", "policies")
        own = {name: getattr(self, name) for name in names} | ({"time": self.time} if self.times else {})
        data = {"rules_version": RULES_VERSION, **own, **entries}
        if self.sources:
            data["sources"] = self.sources
        return json.dumps(data, indent=1) + "\n"


def _check_different(name: str, entries: list[Entry]) -> None:
    """Raise an error if two entries share a combination of options, whose runs would be duplicated."""
    axes = [_texts(entry) for entry in entries]
    for (one, first), (other, second) in itertools.combinations(enumerate(entries), 2):
        # A grid has all combinations, so two grids share one if they share a choice on every axis.
        alike = first.kind == second.kind and axes[one].keys() == axes[other].keys()
        if alike and all(axes[one][option] & axes[other][option] for option in axes[one]):
            raise ValueError(f"{name} {one + 1} and {name} {other + 1} have a cell in common")


def _texts(entry: Entry) -> dict[str, set[bytes]]:
    """Return the choices of each option in the canonical form that ids are made from."""
    return {
        name: {canonical_text("", {name: choice}) for choice in choices(given)}
        for name, given in entry.options.items()
    }


@contextlib.contextmanager
def placed(place: str) -> Iterator[None]:
    """Add to an error its place in the sweep."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise type(error)(f"{place}: {error}") from None


# --- The ids of cells ---------------------------------------------------------------


def cell_ids(world: bytes, agents: list[bytes], length: Length) -> list[str]:
    """Return the ids of the cells of one world; world and agents are texts made by `canonical_text`."""
    until = f"{length.time!r}|" if math.isfinite(length.time) else ""
    common = hashlib.sha256(
        f"{RULES_VERSION}|{length.steps}|{length.episodes}|{until}".encode() + world + b"|"
    )
    ids = []
    for agent in agents:
        digest = common.copy()
        digest.update(agent)
        ids.append(digest.hexdigest()[:16])
    return ids


def canonical_text(kind: str, options: Options) -> bytes:
    """Return a canonical text of a kind and its options, independent of their order and of where files are.

    For users' own code, it includes a hash of the source.
    """
    sources = users_sources(kind, options)
    written = [kind, _identified(options), *([sources] if sources else [])]
    return json.dumps(written, sort_keys=True, allow_nan=False).encode()


def _identified(options: Axes) -> dict[str, Choice | list[Choice]]:
    """Return options as they appear in ids and files: data as a content hash, a bool as a word."""
    written: dict[str, Choice | list[Choice]] = {}
    for name, given in options.items():
        several = [_identity(name, choice) for choice in choices(given)]
        written[name] = several if isinstance(given, list) else several[0]
    return written


def _identity(name: str, choice: Choice) -> Choice:
    if name == "data" and isinstance(choice, str):
        return identity(choice)
    return as_word(choice) if isinstance(choice, bool) else choice


def as_word(truth: bool) -> str:
    """Return "yes" or "no", as results and ids show a bool."""
    return "yes" if truth else "no"


# --- Sweeps in TOML -----------------------------------------------------------------


@told
def load_sweep(path: str | Path) -> Sweep:
    r"""Return the sweep in a TOML file.

    >>> import tempfile
    >>> text = 'seeds = 3\nsteps = 10\n[[world]]\nkind = "two-state"\nlog_scale = 0.01\n[[agent]]\nkind = "smart"\n'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     count = Path(folder, "small.toml").write_text(text)
    ...     load_sweep(Path(folder, "small.toml")).num_steps
    30
    """
    return parse_sweep(load_toml(Path(path)))


@told
def parse_sweep(data: Mapping[str, Any]) -> Sweep:
    """Return the sweep that TOML, or a dictionary like it, describes.

    >>> sweep = parse_sweep({
    ...     "seeds": 5, "steps": 1000,
    ...     "world": [{"kind": "two-state", "log_scale": {"logspace": [1e-3, 1e-1, 3]}}],
    ...     "agent": [{"kind": "smart"}, {"kind": "harmonic-r", "rate_step_size": [0.01, 0.1]}],
    ... })
    >>> sweep.num_cells, sweep.num_runs
    (9, 45)
    """
    for key in data:
        if key not in _TOP:
            raise ValueError(f"unknown key {shown(key)}{nearest(key, _TOP)}")
    for key in ("seeds", "world", "agent"):
        if key not in data:
            raise ValueError(f"the key {key!r} is missing")
    return Sweep(
        worlds=_entries("world", data["world"]),
        agents=_entries("agent", data["agent"]),
        seeds=_seeds(data["seeds"]),
        steps=_lengths(data["steps"]) if "steps" in data else None,
        episodes=whole("episodes", data.get("episodes", 1)),
        record=whole("record", data.get("record", 0), least=0, most=MOST_POINTS),
        name=str(data.get("name", "sweep")),
        **{key: data[key] for key in _OWN if key in data},
    )


def _seeds(given: int | list[int]) -> list[int]:
    """Return the seeds, given as a list or as their number, counted from 0."""
    if isinstance(given, list):
        return [whole("seeds", seed, least=0) for seed in given]
    return list(range(whole("seeds", given, most=MOST_SEEDS)))


def _lengths(given: int | list[int]) -> int | list[int]:
    return [whole("steps", length) for length in given] if isinstance(given, list) else whole("steps", given)


def _entries(name: str, tables: Any) -> list[Entry]:
    """Return the worlds or the agents of a sweep."""
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise TypeError(f"{name} must be a list of tables: write [[{name}]]")
    entries = []
    for index, table in enumerate(tables):
        if "kind" not in table:
            raise ValueError(f"{name} {index + 1} lacks the key 'kind'")
        for key in ("kind", "label"):
            if not isinstance(table.get(key, ""), str) or len(table.get(key, "")) > 200:
                raise TypeError(f"{name} {index + 1} has the {key} {shown(table[key])}; it must be a word")
        kind = plain_kind(table["kind"])
        options = {}
        for key, given in table.items():
            if key not in ("kind", "label"):
                with placed(f"{name} {index + 1} ({listed([kind])}), option {listed([key])}"):
                    options[key] = expand(given)
        entries.append(Entry(kind, options, table.get("label", "")))
    return entries
