"""A sweep as data: worlds, agents, the grids of their options, and seeds.

A *cell* is one world with one agent and all options fixed; a *run* is a cell with a seed. The id of
a cell is a hash of everything that determines its numbers, including the version of the rules: the same id
means the same numbers, on any machine. `sojourn.runs.toml` reads sweeps from files.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass

from sojourn.data.hints import Choice, Options
from sojourn.data.numbers import listed, positive, shown, whole
from sojourn.rules.door import told
from sojourn.rules.jit.identity import check_unedited
from sojourn.runs.build import build_agent, build_world
from sojourn.runs.fitting import unlike
from sojourn.runs.grids import Axes, Entry, choices
from sojourn.runs.lengths import MOST_POINTS, Length
from sojourn.runs.named import users_sources
from sojourn.worlds.market.segments import identity
from sojourn.worlds.protocol import World, extent

# Raise this when any rule gives different numbers than before. 2: an action of value -inf is not explored,
# which changes runs that diverged. 3: ties are broken at random unless an agent says ties="lowest", which changes
# every run whose values tie; Differential Q divides by at least a tenth of the mean duration.
# 4: TimeSmoothed has no bias towards its first value. 5: a sweep over an option that changes the type of an agent's
# part gives each cell its own numbers; before, all cells had those of the first.
RULES_VERSION = 5

MOST_RUNS = 100_000_000
SPACINGS, CURVES = ("log", "even"), ("each", "mean")


@told
@dataclass(frozen=True)
class Sweep:
    """All worlds with all agents and all seeds. Creating a sweep checks every option.

    >>> worlds = [Entry("two_state", {"log_scale": [1e-3, 1e-2]})]
    >>> sweep = Sweep(worlds, [Entry("smart"), Entry("harmonic_r")], seeds=[0, 1, 2], steps=1000)
    >>> sweep.num_cells, sweep.num_runs, sweep.num_steps
    (4, 12, 12000)
    """

    worlds: list[Entry]
    agents: list[Entry]
    seeds: list[int]
    steps: int | list[int] | None = None  # one length or several; if None, those of the worlds themselves
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
        """Build a world and an agent with every choice of every option, and check that they fit each other."""
        worlds = []
        for index, entry in enumerate(self.worlds):
            for options in entry.samples():
                with placed(f"world {index + 1} ({listed([entry.kind])})"):
                    world = build_world(entry.kind, options)
                    if self.steps is None and not hasattr(world, "num_steps"):
                        raise ValueError("this world has no length of its own, so 'steps' is needed")
            worlds.append(world)
        for index, entry in enumerate(self.agents):
            for options in entry.samples():
                with placed(f"agent {index + 1} ({listed([entry.kind])})"):
                    build_agent(entry.kind, options, *extent(world))
            with placed(f"agent {index + 1} ({listed([entry.kind])})"):
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
        """The lengths of an episode, if the sweep sets them."""
        return [self.steps] if isinstance(self.steps, int) else self.steps

    @property
    def times(self) -> list[float]:
        """The times at which runs end, if the sweep sets them."""
        return [] if self.time is None else self.time if isinstance(self.time, list) else [self.time]

    @functools.cached_property
    def num_steps(self) -> int:
        """The number of steps of all runs together; with a time, the largest possible number."""
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
        """Return the sweep as the text that its results folder keeps."""
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
    """Raise an error if two entries share a combination of options, whose runs would be made twice."""
    axes = [_texts(entry) for entry in entries]
    for (one, first), (other, second) in itertools.combinations(enumerate(entries), 2):
        # Each grid has all combinations, so two grids share one if they share a choice on every axis.
        alike = first.kind == second.kind and axes[one].keys() == axes[other].keys()
        if alike and all(axes[one][option] & axes[other][option] for option in axes[one]):
            raise ValueError(f"{name} {one + 1} and {name} {other + 1} have a cell in common")


def _texts(entry: Entry) -> dict[str, set[bytes]]:
    """Return the choices of each option as the texts that ids are made from."""
    return {
        name: {canonical_text("", {name: choice}) for choice in choices(given)}
        for name, given in entry.options.items()
    }


@contextlib.contextmanager
def placed(place: str) -> Iterator[None]:
    """Add to an error where in the sweep it is."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise type(error)(f"{place}: {error}") from None


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
    """Return a kind and its options as a text that does not depend on their order or on where files are.

    For the names of users' own code, the text includes a hash of the source.
    """
    sources = users_sources(kind, options)
    written = [kind, _identified(options), *([sources] if sources else [])]
    return json.dumps(written, sort_keys=True, allow_nan=False).encode()


def _identified(options: Axes) -> dict[str, Choice | list[Choice]]:
    """Return options as they appear in ids and files: data as a hash of its content, a bool as a word."""
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
