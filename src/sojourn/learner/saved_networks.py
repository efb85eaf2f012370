"""The file of a learner whose agent observes; like every file of a learner, it holds only data.

The file says how the agent was made, if it is one of Sojourn's, and what it has learned. An agent of your own has to be
made again by you, and then gets its state from the file: `Learner.load(path, env, agent=make)`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from sojourn.agents.networks.protocol import Memory
from sojourn.data.hints import check_kind
from sojourn.envs.durations import DurationSource
from sojourn.envs.masks import MaskSource
from sojourn.learner.archive import format_of, read_archive, write_archive
from sojourn.learner.described import NETWORK_FORMAT, NETWORK_VERSION, SavedEnvironment, described
from sojourn.learner.held import check_totals
from sojourn.learner.observing import OBSERVERS, OURS, MakeObserver, ObservingDriver, Source, driver_for
from sojourn.rules.values import canonical, replaced
from sojourn.runs.totals import Totals


class SavedNetwork(TypedDict):
    """Everything that the file of a learner whose agent observes holds."""

    kind: str  # of agent; empty if it is not one of Sojourn's
    options: dict[str, Any]
    learned: dict[str, Any]
    totals: dict[str, float]
    seed: int
    places: int
    num_inputs: int
    num_actions: int
    duration: str | float | None
    action_mask: str | None
    lanes: dict[str, Any]
    env: SavedEnvironment | None


def is_one(path: Path) -> bool:
    """Whether a file says that it is of this kind; if it is not, other code says what is wrong with it."""
    return format_of(path) == NETWORK_FORMAT


def write(path: Path, driver: ObservingDriver) -> None:
    """Write everything that is needed to continue."""
    agent, lanes = driver.agent, driver.lanes
    reader = lanes.reader
    ours = isinstance(agent, OURS)
    contents: SavedNetwork = {
        "kind": agent.kind if isinstance(agent, OURS) else "",
        "options": agent.options if isinstance(agent, OURS) else {},
        "learned": agent.state(),
        "totals": driver.totals._asdict(),
        "seed": lanes.seed,
        "places": lanes.places,
        "num_inputs": reader.observing.num_inputs,
        "num_actions": reader.observing.num_actions if ours else -1,
        "duration": None if callable(reader.source) else reader.source,
        "action_mask": reader.mask_key,
        "lanes": lanes.state(),
        "env": described(lanes.env),
    }
    write_archive(path, NETWORK_FORMAT, NETWORK_VERSION, contents)


class Given(NamedTuple):
    """What a user gives to `load`, because it has changed or because a file cannot hold it."""

    duration: DurationSource | None = None
    action_mask: MaskSource | None = None
    agent: MakeObserver | None = None


def read(path: Path, env: Any, given: Given) -> ObservingDriver:
    """Return the driver that a file describes, in environments like those it was in."""
    contents: Any = read_archive(path, NETWORK_FORMAT, NETWORK_VERSION)
    try:
        check_kind(SavedNetwork, contents, "the learner")
        return _restored(contents, env, given)
    except (TypeError, ValueError, KeyError) as error:
        raise ValueError(f"{path}: {error}") from None
    except MemoryError:
        raise ValueError(f"{path}: its options ask for an agent that is larger than the memory") from None


def _restored(saved: SavedNetwork, env: Any, given: Given) -> ObservingDriver:
    source = saved["duration"] if given.duration is None else given.duration
    mask = saved["action_mask"] if given.action_mask is None else given.action_mask
    if source is None:
        raise ValueError(
            "its duration was a function, which is not saved; pass it again: load(..., duration=...)"
        )
    if mask is None:
        raise ValueError(
            "its action mask was a function, which is not saved; pass it again: load(..., action_mask=...)"
        )
    make = OBSERVERS.get(saved["kind"]) if given.agent is None else given.agent
    if make is None:
        raise ValueError("its agent is not one of Sojourn's; say how to make it: load(..., agent=make)")
    options: Memory = saved["options"] if saved["kind"] and given.agent is None else {}
    driver = driver_for(make, options, env, Source(source, mask, saved["seed"], saved["lanes"].get("clock")))
    observing = driver.lanes.reader.observing
    told = (driver.lanes.places, observing.num_inputs)
    if told != (saved["places"], saved["num_inputs"]):
        raise ValueError(
            f"it was trained in {saved['places']} environments with {saved['num_inputs']} inputs, but here there are "
            f"{told[0]} with {told[1]}"
        )
    driver.agent.restored(saved["learned"])
    totals = canonical(replaced(Totals(), **saved["totals"]))
    check_totals(totals)
    driver.totals = totals
    driver.lanes.restored(saved["lanes"])
    return driver
