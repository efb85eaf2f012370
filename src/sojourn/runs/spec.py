"""A sweep as data: worlds, agents, the grids of their options, and seeds.

In TOML, which `load_sweep` reads:

    name = "first-look"
    seeds = 5                                   # 0 to 4, or a list
    steps = 1000                                # or a list of lengths
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

An option is a number or a word; a list, a `logspace` or a `linspace` (first, last, count)
makes it an axis of the grid of its own world or agent. A *cell* is one world with one agent
and all options fixed; a *run* is a cell with a seed. Worlds that have a length of their own,
such as a market, are run to their end where `steps` is not given.

    [[world]]
    kind = "market"
    data = "btcusd.parquet"                     # or "synthetic"
    segment = [0, 1, 2]
    duration = ["random", "scaled"]

A run of 100 steps is the beginning of the run of 1,000 with the same seed, so that
`steps = [100, 1000]` shows how policies change. The named problems, and models in
files, are worlds too, and their results have the exact gain beside them:

    [[world]]
    kind = "admission-control"
    capacity = [5, 20]
    actions = ["given", "reversed"]             # how they are numbered: ties go to the lowest

    [[world]]
    kind = "model"
    data = "my-queue.toml"

The id of a cell is a hash of all that decides its numbers, the version of the rules
included: the same id means the same numbers, on any machine.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import itertools
import json
import math
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sojourn.agents.learn import Decay
from sojourn.rules.elementary import exp10, log
from sojourn.rules.numbers import finite, nearest, whole
from sojourn.runs.named import WORLDS, agent_kinds
from sojourn.worlds.market.segments import identity

# Raise it when any rule gives other numbers than before. 2: an action of value -inf is not explored,
# which changes runs that diverged.
RULES_VERSION = 2

_NOT_OPTIONS = {"num_states", "num_actions", "noise_key", "t"}
_DECAY = ("start", "factor", "floor")
SPACINGS, CURVES = ("log", "even"), ("each", "mean")

Options = dict[str, Any]


@dataclass(frozen=True)
class Entry:
    """A kind of world or agent and its options; options that are lists are axes of a grid.

    >>> entry = Entry("smart", {"step_size": [0.01, 0.1], "exploration": 0.2})
    >>> len(entry), list(entry.grid())[1]
    (2, {'step_size': 0.1, 'exploration': 0.2})
    """

    kind: str
    options: Options = field(default_factory=dict)
    label: str = ""  # what results call it; its kind unless given

    def grid(self) -> Iterator[Options]:
        """Yield the options of every combination, in order."""
        axes = {
            name: choice if isinstance(choice, list) else [choice] for name, choice in self.options.items()
        }
        for combination in itertools.product(*axes.values()):
            yield dict(zip(axes, combination, strict=True))

    def samples(self) -> Iterator[Options]:
        """Yield combinations in which every choice of every axis occurs: enough to check them all."""
        first = next(self.grid())
        yield first
        for name, choice in self.options.items():
            if isinstance(choice, list):
                for other in choice[1:]:
                    yield {**first, name: other}

    def __len__(self) -> int:
        return math.prod(len(choice) for choice in self.options.values() if isinstance(choice, list))


@dataclass(frozen=True)
class Sweep:
    """Worlds by agents by seeds. Making one checks all of it, to the last option.

    >>> worlds = [Entry("two_state", {"log_scale": [1e-3, 1e-2]})]
    >>> sweep = Sweep(worlds, [Entry("smart"), Entry("harmonic_r")], seeds=[0, 1, 2], steps=1000)
    >>> sweep.num_cells, sweep.num_runs, sweep.num_steps
    (4, 12, 12000)
    """

    worlds: list[Entry]
    agents: list[Entry]
    seeds: list[int]
    steps: int | list[int] | None = None  # one or several lengths; those of the worlds themselves if None
    episodes: int = 1
    record: int = 0
    name: str = "sweep"
    spacing: str = "log"
    curves: str = "each"
    policies: bool = True

    def __post_init__(self) -> None:
        for name, entries in (("world", self.worlds), ("agent", self.agents)):
            if not entries:
                raise ValueError(f"the sweep has no {name}; it needs at least one")
        for length in self.lengths or ():
            whole("steps", length)
        if self.steps is not None and len(set(self.lengths or ())) != len(self.lengths or (0,)):
            raise ValueError("steps is empty or has the same length twice")
        whole("episodes", self.episodes)
        whole("record", self.record, least=0)
        if max(max(self.lengths or [0]) * self.episodes, *map(_seed, self.seeds), 0) >= 2**63:
            raise ValueError("seeds and steps times episodes must be less than 2^63")
        for name, choice, choices in (
            ("spacing", self.spacing, SPACINGS),
            ("curves", self.curves, CURVES),
            ("policies", self.policies, (True, False)),
        ):
            if choice not in choices:
                raise ValueError(f"{name} is {choice!r}; it must be {choices[0]} or {choices[1]}")
        if not self.seeds:
            raise ValueError("seeds is empty; the sweep needs at least one")
        if len(set(self.seeds)) != len(self.seeds):
            raise ValueError("seeds has the same seed twice")
        labels = [entry.label or entry.kind for entry in self.agents]
        if len(set(labels)) != len(labels):
            raise ValueError("two agents have the same name in the results; give one of them a label")
        _check_different("world", self.worlds)
        _check_different("agent", self.agents)
        for place, entry in _places("world", self.worlds):
            for options in entry.samples():
                world = _in(place, build_world, entry.kind, options)
                if self.steps is None and not hasattr(world, "num_steps"):
                    raise ValueError(f"{place}: this world has no end of its own, so 'steps' is needed")
        for place, entry in _places("agent", self.agents):
            for options in entry.samples():
                _in(place, build_agent, entry.kind, options, world.num_states, world.num_actions)

    @property
    def num_cells(self) -> int:
        """The number of cells."""
        return sum(map(len, self.worlds)) * sum(map(len, self.agents)) * len(self.lengths or [0])

    @property
    def num_runs(self) -> int:
        """The number of runs."""
        return self.num_cells * len(self.seeds)

    @property
    def lengths(self) -> list[int] | None:
        """The lengths of an episode, if the sweep sets them."""
        return [self.steps] if isinstance(self.steps, int) else self.steps

    @functools.cached_property
    def num_steps(self) -> int:
        """The number of steps of all runs together."""
        if self.lengths is not None:
            return self.num_runs // len(self.lengths) * sum(self.lengths) * self.episodes
        worlds = (build_world(entry.kind, options) for entry in self.worlds for options in entry.grid())
        total = sum(sum(self.lengths_in(world)) for world in worlds)
        return total * sum(map(len, self.agents)) * len(self.seeds) * self.episodes

    def lengths_in(self, world: Any) -> list[int]:
        """The lengths of an episode in one world."""
        return [int(world.num_steps)] if self.lengths is None else self.lengths

    def to_json(self) -> str:
        """Return the sweep as text: what a results folder keeps of it."""
        entries = {
            name: [
                {"kind": entry.kind, "label": entry.label, **_with_identity(entry.options)} for entry in group
            ]
            for name, group in (("world", self.worlds), ("agent", self.agents))
        }
        names = ("name", "seeds", "steps", "episodes", "record", "spacing", "curves", "policies")
        data = {"rules_version": RULES_VERSION, **{name: getattr(self, name) for name in names}, **entries}
        return json.dumps(data, indent=1) + "\n"


def _seed(seed: Any) -> int:
    return whole("seeds", seed, least=0)


def _check_different(name: str, entries: list[Entry]) -> None:
    """Refuse two entries that have a combination in common: its runs would be there twice."""
    kinds = [entry.kind for entry in entries]
    seen: dict[bytes, int] = {}
    for index, entry in enumerate(entries):
        if kinds.count(entry.kind) > 1:
            for options in entry.grid():
                other = seen.setdefault(canonical_text(entry.kind, options), index)
                if other != index:
                    raise ValueError(f"{name} {other + 1} and {name} {index + 1} have a cell in common")


def _places(name: str, entries: list[Entry]) -> Iterator[tuple[str, Entry]]:
    for index, entry in enumerate(entries):
        yield f"{name} {index + 1} ({entry.kind})", entry


def _in(place: str, build: Callable[..., Any], *args: Any) -> Any:
    """Build something, and say where it stands in the sweep if that fails."""
    try:
        return build(*args)
    except (ValueError, TypeError) as error:
        raise type(error)(f"{place}: {error}") from None


def cell_ids(world: bytes, agents: list[bytes], steps: int, episodes: int) -> list[str]:
    """Return the ids of cells of one world, from the texts that `canonical_text` makes of the parts."""
    common = hashlib.sha256(f"{RULES_VERSION}|{steps}|{episodes}|".encode() + world + b"|")
    ids = []
    for agent in agents:
        digest = common.copy()
        digest.update(agent)
        ids.append(digest.hexdigest()[:16])
    return ids


def canonical_text(kind: str, options: Options) -> bytes:
    """Return a kind and its options as text that depends neither on their order nor on a file's place."""
    return json.dumps([kind, _with_identity(options)], sort_keys=True, allow_nan=False).encode()


def _with_identity(options: Options) -> Options:
    """Return options with data named by its content."""
    if "data" not in options:
        return options
    data = options["data"]
    return {**options, "data": list(map(identity, data)) if isinstance(data, list) else identity(data)}


def build_world(kind: str, options: Options) -> Any:
    """Return a world by name."""
    constructor = _known("world", kind, WORLDS)
    return constructor(**_checked_options(constructor, options))


def build_agent(kind: str, options: Options, num_states: int, num_actions: int) -> Any:
    """Return an agent by name."""
    constructor = _known("agent", kind, agent_kinds())
    options = _checked_options(constructor, options)
    if isinstance(options.get("exploration"), dict):
        options["exploration"] = _decay(options["exploration"])
    return constructor(num_states, num_actions, **options)


def _decay(parts: Options) -> Decay:
    for name in parts:
        if name not in _DECAY:
            raise ValueError(f"exploration has the unknown key {name!r}{nearest(name, _DECAY)}")
    for name in ("start", "factor"):
        if name not in parts:
            raise ValueError(f"exploration lacks the key {name!r}")
    return Decay(**parts)


def _checked_options(constructor: Callable[..., Any], options: Options) -> Options:
    known = _option_names(constructor)
    for name, choice in options.items():
        if name not in known:
            raise ValueError(f"unknown option {name!r}{nearest(name, known)}")
        if isinstance(choice, bool) or not isinstance(choice, int | float | str | dict):
            raise TypeError(f"{name} is {choice!r}; it must be a number, a word or a grid")
    return dict(options)


@functools.cache
def _option_names(constructor: Callable[..., Any]) -> list[str]:
    parameters = inspect.signature(constructor).parameters.values()
    # An agent's num_states, which it has from its world, stands first; that of a problem is an option.
    return [
        parameter.name
        for parameter in parameters
        if parameter.kind is parameter.KEYWORD_ONLY or parameter.name not in _NOT_OPTIONS
    ]


def _known(what: str, kind: str, table: Mapping[str, Any]) -> Any:
    if kind not in table:
        raise ValueError(f"unknown {what} {kind!r}{nearest(kind, table)}")
    return table[kind]


# --- Reading TOML -------------------------------------------------------------------

_TOP = ("name", "seeds", "steps", "episodes", "record", "spacing", "curves", "policies", "world", "agent")


def load_sweep(path: str | Path) -> Sweep:
    r"""Return the sweep in a TOML file.

    >>> import tempfile
    >>> text = 'seeds = 3\nsteps = 10\n[[world]]\nkind = "two-state"\nlog_scale = 0.01\n[[agent]]\nkind = "smart"\n'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     count = Path(folder, "small.toml").write_text(text)
    ...     load_sweep(Path(folder, "small.toml")).num_steps
    30
    """
    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a TOML file: {error}") from None
    return parse_sweep(data)


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
            raise ValueError(f"unknown key {key!r}{nearest(key, _TOP)}")
    for key in ("seeds", "world", "agent"):
        if key not in data:
            raise ValueError(f"the key {key!r} is missing")
    seeds = data["seeds"]
    if not isinstance(seeds, list):
        if whole("seeds", seeds) > 10**7:
            raise ValueError(f"seeds is {seeds}; a sweep takes at most 10 million")
        seeds = list(range(seeds))
    return Sweep(
        worlds=_entries("world", data["world"]),
        agents=_entries("agent", data["agent"]),
        seeds=[whole("seeds", seed, least=0) for seed in seeds],
        steps=_lengths(data["steps"]) if "steps" in data else None,
        episodes=whole("episodes", data.get("episodes", 1)),
        record=whole("record", data.get("record", 0), least=0),
        name=str(data.get("name", "sweep")),
        **{key: data[key] for key in ("spacing", "curves", "policies") if key in data},
    )


def _lengths(steps: Any) -> int | list[int]:
    return [whole("steps", length) for length in steps] if isinstance(steps, list) else whole("steps", steps)


def _entries(name: str, tables: Any) -> list[Entry]:
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise TypeError(f"{name} must be a list of tables: write [[{name}]]")
    entries = []
    for index, table in enumerate(tables):
        place = f"{name} {index + 1}"
        if "kind" not in table:
            raise ValueError(f"{place} lacks the key 'kind'")
        kind = str(table["kind"]).replace("-", "_")
        options = {
            key: _in(f"{place} ({kind}), option {key}", expand, choice)
            for key, choice in table.items()
            if key not in ("kind", "label")
        }
        entries.append(Entry(kind, options, str(table.get("label", ""))))
    return entries


def expand(choice: Any) -> Any:
    """Return a grid as the list it stands for; anything else as it is.

    >>> expand({"linspace": [0, 1, 3]})
    [0.0, 0.5, 1.0]
    >>> expand({"logspace": [0.01, 100, 3]})
    [0.01, 1.0, 100.0]
    """
    if isinstance(choice, list):
        if not choice:
            raise ValueError("the list is empty; a grid needs at least one choice")
        return _different([_number(entry) for entry in choice])
    if isinstance(choice, dict) and not set(choice) & set(_DECAY):
        if len(choice) != 1 or next(iter(choice)) not in ("logspace", "linspace"):
            hint = nearest(next(iter(choice), ""), ("logspace", "linspace"))
            raise ValueError(f"{choice!r} is no grid{hint}")
        ((space, bounds),) = choice.items()
        if not (isinstance(bounds, list) and len(bounds) == 3):
            raise ValueError(f"{space} takes [first, last, count], not {bounds!r}")
        return _different(spaced(space, *bounds))
    return _number(choice)


def _number(choice: Any) -> Any:
    """Return a whole number as a float, which it is to every option: 1 and 1.0 are one choice."""
    is_whole = isinstance(choice, int) and not isinstance(choice, bool)
    return finite("the number", choice) if is_whole else choice


def _different(choices: list[Any]) -> list[Any]:
    if len({json.dumps(entry, sort_keys=True) for entry in choices}) != len(choices):
        raise ValueError("the grid has the same choice twice")
    return choices


def spaced(space: str, first: float, last: float, count: int) -> list[float]:
    """Return `count` numbers from `first` to `last`, evenly spaced, or evenly in log."""
    count, first, last = whole("count", count), float(first), float(last)
    if not (math.isfinite(first) and math.isfinite(last)) or (space == "logspace" and min(first, last) <= 0):
        bound = "finite and greater than 0" if space == "logspace" else "finite"
        raise ValueError(f"the ends of {space} must be {bound}")
    if count == 1:
        return [first]
    if space == "linspace":
        inner = [first + (last - first) * i / (count - 1) for i in range(1, count - 1)]
    else:
        low, high = log(first) / log(10.0), log(last) / log(10.0)
        inner = [exp10(low + (high - low) * i / (count - 1)) for i in range(1, count - 1)]
    return [first, *inner, last]
