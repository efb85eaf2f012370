"""The file of a learner: what it holds, and how a learner's parts are restored from it.

The file holds only data (`sojourn.learner.archive`). A duration or an action mask that is a function is not
saved, nor is what the warnings have seen; after loading, they start afresh.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, TypedDict

from sojourn.agents.checks import ready_agent
from sojourn.agents.protocol import Agent
from sojourn.agents.values.protocol import sizes
from sojourn.data.hints import check_kind, is_of_kind
from sojourn.data.numbers import shown, whole, within
from sojourn.envs.durations import DurationSource
from sojourn.envs.masks import MaskSource
from sojourn.envs.places import Place, Trace
from sojourn.envs.protocol import Environment, Space
from sojourn.envs.states import action_count, first_action, tabulate
from sojourn.envs.tabulation import Description, Tabulation
from sojourn.learner.archive import format_of, read_archive, write_archive
from sojourn.learner.described import NETWORK_FORMAT, NETWORK_VERSION, SavedEnvironment, described
from sojourn.learner.driver import Driver, Position
from sojourn.learner.held import HeldAgent
from sojourn.learner.masks import HiddenActions, HiddenValues
from sojourn.learner.reading import Reading
from sojourn.rates.protocol import stumbling
from sojourn.rules.streams import Stream
from sojourn.rules.values import Column

FORMAT, VERSION = "sojourn learner", 4


class Saved(TypedDict):
    """Everything that the file of a learner holds."""

    agent: Agent
    stream: Stream
    totals: dict[str, float]
    now: Column
    seed: int
    state: int | None
    drawn: tuple[int, bool]
    hidden: HiddenValues
    states: Description
    first_action: int
    duration: str | float | None
    action_mask: str | None
    clock: str | None
    place: Place | None
    env: SavedEnvironment | None


def write(path: Path, driver: Driver) -> None:
    """Write everything that is needed to continue."""
    reading, held, trace, at = driver.reading, driver.held, driver.trace, driver.position
    contents: Saved = {
        "agent": held.agent,
        "stream": held.rng,
        "totals": held.totals._asdict(),
        "now": held.now,
        "seed": trace.seed,
        "state": None if at is None else at.state,
        "drawn": (0, False) if at is None else (at.action, at.explored),
        "hidden": driver.hidden.to_dict(),
        "states": reading.states.to_dict(),
        "first_action": reading.first_action,
        "duration": None if callable(reading.source) else reading.source,
        "action_mask": reading.mask_key,
        "clock": reading.clock_key,
        "place": driver.place(),
        "env": described(trace.env),
    }
    write_archive(path, FORMAT, VERSION, contents)


def read(
    path: Path,
    env: Environment,
    duration: DurationSource | None = None,
    action_mask: MaskSource | None = None,
) -> Driver:
    """Return the driver that a file describes, in an environment like the one it was in."""
    contents: Any = read_archive(path, FORMAT, VERSION)
    try:
        check_kind(Saved, contents, "the learner")
        return _restored(contents, env, duration, action_mask)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from None


def saved_environment(path: str | Path) -> SavedEnvironment | None:
    """Return the id and the options of the environment that a saved learner was trained in, if they are known."""
    is_network = format_of(Path(path)) == NETWORK_FORMAT
    expected = (NETWORK_FORMAT, NETWORK_VERSION) if is_network else (FORMAT, VERSION)
    saved: SavedEnvironment | None = read_archive(Path(path), *expected).get("env")
    return saved if saved is not None and is_of_kind(SavedEnvironment, saved) else None


def _restored(
    saved: Saved, env: Environment, duration: DurationSource | None, action_mask: MaskSource | None
) -> Driver:
    states, agent = Tabulation.from_dict(saved["states"]), ready_agent(saved["agent"])
    _check_fit(states, agent, saved["first_action"], env)
    wrong = stumbling(agent.rate)
    if wrong:
        raise ValueError(wrong)
    source = saved["duration"] if duration is None else duration
    if source is None:
        raise ValueError(
            "its duration was a function, which is not saved; pass it again: load(..., duration=...)"
        )
    mask = saved["action_mask"] if action_mask is None else action_mask
    if mask is None:
        raise ValueError(
            "its action mask was a function, which is not saved; pass it again: load(..., action_mask=...)"
        )
    reading = Reading(env, source=source, bins=states, action_mask=mask, clock=saved["clock"])
    held = HeldAgent.restored(agent, saved["stream"], saved["totals"], saved["now"])
    hidden = HiddenActions.restored(held.q, reading.mask_name, saved["hidden"])
    trace = Trace(env, whole("seed", saved["seed"], least=0))
    driver = Driver(reading, held, hidden, trace)
    state, (action, explored) = saved["state"], saved["drawn"]
    if state is not None:
        within("state", state, states.num_states)
        within("action", action, reading.num_actions)
        driver.go_to(saved["place"], Position(state, action, explored))
    return driver


def _check_fit(states: Tabulation, agent: Agent, first: int, env: Environment) -> None:
    """Refuse an environment with other states or actions than a learner was trained with."""
    if not _fits(states, env.observation_space):
        raise ValueError(
            f"it was trained with {states.describe()}; this environment observes "
            f"{shown(env.observation_space)}"
        )
    count = sizes(agent.values)[1]
    if action_count(env.action_space) != count or first_action(env.action_space) != first:
        raise ValueError(
            f"it was trained with {count} actions; this environment has {shown(env.action_space)}"
        )


def _fits(states: Tabulation, space: Space) -> bool:
    """Whether a space is the one that was numbered; of continuous parts, only the shape can be compared."""
    try:
        return tabulate(space) == states
    except (TypeError, ValueError):
        try:
            return 0 <= states(copy.deepcopy(space).sample()) < states.num_states
        except (TypeError, ValueError, IndexError, KeyError):
            return False
