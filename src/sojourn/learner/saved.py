"""The file of a learner: its content, and how a learner is restored from it.

The file contains only data (`sojourn.learner.archive`). A duration or an action mask that is a function is not saved,
nor is the history behind the warnings, which start afresh after loading. For an agent of observations, the file says
how it was constructed, if it is one of Sojourn's, and what it has learned. You construct your own agent again, which
then gets its state from the file: `Learner.load(path, env, agent=make)`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

from sojourn.agents.protocol import Agent, ready_agent
from sojourn.agents.values.protocol import sizes
from sojourn.data.files import load_json
from sojourn.data.hints import check_kind, is_of_kind
from sojourn.data.numbers import shown, whole, within
from sojourn.envs.places import SavedPlace, Trace, places_of
from sojourn.envs.protocol import Environment, Space
from sojourn.envs.reader import DurationSource, MaskSource, TableReader
from sojourn.envs.states import Description, Tabulation, action_count, first_action, tabulate
from sojourn.exact.policy_files import FORMAT as SOLVED
from sojourn.exact.policy_files import SolvedPolicy
from sojourn.learner.archive import format_of, read_archive, write_archive
from sojourn.learner.choice import OBSERVERS, MakeObserver, Supply, observing_agent
from sojourn.learner.driver import OURS, Driver, ObservingDriver, TableDriver
from sojourn.learner.policy import LearnedPolicy, policy_of
from sojourn.learner.table_agent import HiddenActions, HiddenValues, TableAgent, check_totals
from sojourn.rates.protocol import stumbling
from sojourn.rules.door import told
from sojourn.rules.random import Stream
from sojourn.rules.values import Column, canonical, with_fields
from sojourn.runs.recording import Totals

FORMAT, VERSION = "sojourn learner", 4
NETWORK_FORMAT, NETWORK_VERSION = "sojourn learner with a network", 2

Options = dict[str, bool | int | float | str | None]


class SavedEnvironment(TypedDict):
    """How an environment was constructed: its id, the module that registers it, and its options.

    `module` is None if Sojourn or Gymnasium registers it; `kwargs` is None if a file cannot hold the options.
    """

    id: str
    module: str | None
    kwargs: Options | None
    max_episode_steps: int | None


class Saved(TypedDict):
    """The content of a learner's file."""

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
    place: SavedPlace | None
    env: SavedEnvironment | None


class SavedNetwork(TypedDict):
    """The content of a learner's file if its agent is one of observations."""

    kind: str  # of agent; empty for a third-party one
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


def write(path: Path, driver: Driver) -> None:
    """Write everything needed to continue."""
    if isinstance(driver, TableDriver):
        write_archive(path, FORMAT, VERSION, _of_table(driver))
    else:
        write_archive(path, NETWORK_FORMAT, NETWORK_VERSION, _of_observer(driver))


def _of_table(driver: TableDriver) -> Saved:
    reader, table, at = driver.reader, driver.table, driver.position
    return {
        "agent": table.agent,
        "stream": table.rng,
        "totals": table.totals._asdict(),
        "now": table.now,
        "seed": driver.seed,
        "state": None if at is None else at[0],
        "drawn": (0, False) if at is None else at[1:],
        "hidden": driver.hidden.to_dict(),
        "states": reader.states.to_dict(),
        "first_action": reader.first_action,
        "duration": None if callable(reader.source) else reader.source,
        "action_mask": reader.mask_key,
        "clock": reader.clock_key,
        "place": driver.place(),
        "env": described(driver.env),
    }


def _of_observer(driver: ObservingDriver) -> SavedNetwork:
    reader, agent = driver.reader, driver.agent
    ours = agent if isinstance(agent, OURS) else None
    return {
        "kind": "" if ours is None else ours.kind,
        "options": {} if ours is None else ours.options,
        "learned": agent.state(),
        "totals": driver.totals._asdict(),
        "seed": driver.seed,
        "places": driver.places.count,
        "num_inputs": reader.num_inputs,
        "num_actions": -1 if ours is None else reader.num_actions,
        "duration": None if callable(reader.source) else reader.source,
        "action_mask": reader.mask_key,
        "lanes": driver.places.state(),
        "env": described(driver.env),
    }


def read(
    path: Path,
    supply: Supply,
    duration: DurationSource | None = None,
    action_mask: MaskSource | None = None,
    agent: MakeObserver | None = None,
) -> Driver:
    """Restore the driver that a file describes, in environments like the saved ones.

    Arguments override what the file says, or supply what it cannot hold.
    """
    contents, is_network = _contents(path)
    env = supply.env if is_network else supply.single
    try:
        check_kind(SavedNetwork if is_network else Saved, contents, "the learner")
        source = _given("duration", contents["duration"], duration)
        mask = _given("action mask", contents["action_mask"], action_mask)
        if is_network:
            return _restored_observer(contents, env, source, mask, agent)
        return _restored_table(contents, env, source, mask)
    except (TypeError, ValueError, KeyError) as error:
        raise ValueError(f"{path}: {error}") from None
    except MemoryError:
        raise ValueError(f"{path}: its options ask for an agent that is larger than the memory") from None


@told
def load_policy(path: str | Path, seed: int = 0) -> LearnedPolicy | SolvedPolicy:
    """Load the policy in a JSON file or in a saved learner's file. No environment is needed.

    A policy that `solve` found and `write_policy` wrote may draw its action in some states, from `seed`.

    >>> import tempfile
    >>> import sojourn as sj
    >>> learner = sj.Learner(sj.envs.WorldEnv(sj.worlds.TwoState(log_scale=1e-3), compiled=False), seed=0)
    >>> totals = learner.train(100)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     learner.write_policy(f"{folder}/policy.json")
    ...     policy = load_policy(f"{folder}/policy.json")
    >>> policy.act(0) == learner.act(0)
    True
    """
    path = Path(path)
    if path.suffix == ".json":
        if load_json(path).get("format") == SOLVED:
            return SolvedPolicy.from_file(path, seed)
        return LearnedPolicy.from_file(path)
    contents, is_network = _contents(path)
    if is_network:
        raise ValueError(
            f"{path} holds an agent that observes, which has no table of states; ask Learner.load(...).act(observation) "
            "for its action, or follow it with `sojourn evaluate`"
        )
    try:
        check_kind(Saved, contents, "the learner")
        (table, hidden), states = _restored_agent(contents), Tabulation(contents["states"])
        if states.num_states != len(table.q):
            raise ValueError(f"it has values for {len(table.q)} states, but numbers {states.num_states}")  # noqa: TRY301
        return policy_of(states, contents["first_action"], table, hidden)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from None


def saved_environment(path: str | Path) -> SavedEnvironment | None:
    """Return the id and the options of a saved learner's training environment, if known."""
    saved: SavedEnvironment | None = _contents(Path(path))[0].get("env")
    return saved if saved is not None and is_of_kind(SavedEnvironment, saved) else None


def _contents(path: Path) -> tuple[Any, bool]:
    """Return a file's content, and whether its agent is one of observations."""
    is_network = format_of(path) == NETWORK_FORMAT
    expected = (NETWORK_FORMAT, NETWORK_VERSION) if is_network else (FORMAT, VERSION)
    return read_archive(path, *expected), is_network


def _given(what: str, saved: Any, given: Any) -> Any:
    """Return the argument if given, else the saved value."""
    if saved is None and given is None:
        name = what.replace(" ", "_")
        raise ValueError(
            f"its {what} was a function, which is not saved; pass it again: load(..., {name}=...)"
        )
    return saved if given is None else given


def _restored_agent(saved: Saved, mask_name: str = "the action mask") -> tuple[TableAgent, HiddenActions]:
    """Return a file's agent, and the actions hidden in its table."""
    agent = ready_agent(saved["agent"])
    table = TableAgent.restored(agent, saved["stream"], saved["totals"], saved["now"])
    return table, HiddenActions.restored(table.q, mask_name, saved["hidden"])


def _restored_table(saved: Saved, env: Environment, source: DurationSource, mask: MaskSource) -> TableDriver:
    states, agent = Tabulation.from_dict(saved["states"]), ready_agent(saved["agent"])
    _check_fit(states, agent, saved["first_action"], env)
    wrong = stumbling(agent.rate)
    if wrong:
        raise ValueError(wrong)
    reader = TableReader(env, source, mask, saved["clock"], bins=states)
    trace = Trace(env, whole("seed", saved["seed"], least=0))
    driver = TableDriver(reader, *_restored_agent(saved, reader.mask_name), trace)
    state, (action, explored) = saved["state"], saved["drawn"]
    if state is not None:
        within("state", state, states.num_states)
        within("action", action, reader.num_actions)
        if math.isinf(driver.q[state, action]):
            raise ValueError(
                f"its next action is {action}, which is not allowed in the state where it stands"
            )
        driver.go_to(saved["place"], (state, action, bool(explored)))
    return driver


_DEEP_Q_OF_0_2 = {"lookahead": 1, "hold": 1, "unit_steps": 10_000}  # options that its files do not have


def _restored_observer(
    saved: SavedNetwork, env: Any, source: DurationSource, mask: MaskSource, agent: MakeObserver | None
) -> ObservingDriver:
    make = OBSERVERS.get(saved["kind"]) if agent is None else agent
    if make is None:
        raise ValueError("its agent is not one of Sojourn's; say how to make it: load(..., agent=make)")
    options = saved["options"] if saved["kind"] and agent is None else {}
    if saved["kind"] == "deep_q" and agent is None:
        options = {**_DEEP_Q_OF_0_2, **options}  # it goes on as it was
    places = places_of(env, saved["seed"], source, mask, saved["lanes"].get("clock"))
    driver = ObservingDriver(observing_agent(make, options, places), places)
    there = (places.count, places.reader.num_inputs)
    if there != (saved["places"], saved["num_inputs"]):
        raise ValueError(
            f"it was trained in {saved['places']} environments with {saved['num_inputs']} inputs, but here there are "
            f"{there[0]} with {there[1]}"
        )
    driver.agent.restored(saved["learned"])
    driver.totals = canonical(with_fields(Totals(), **saved["totals"]))
    check_totals(driver.totals)
    places.restored(saved["lanes"])
    return driver


def _check_fit(states: Tabulation, agent: Agent, first: int, env: Environment) -> None:
    """Refuse an environment whose states or actions differ from those of the training."""
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
    """Whether a space is the saved one; for continuous parts, only the shape can be compared."""
    try:
        return tabulate(space) == states
    except (TypeError, ValueError):
        try:
            return 0 <= states(copy.deepcopy(space).sample()) < states.num_states
        except (TypeError, ValueError, IndexError, KeyError):
            return False


def described(env: Any) -> SavedEnvironment | None:
    """Return how an environment was constructed, if it has a spec."""
    spec = getattr(env, "spec", None)
    if spec is None:
        return None
    return {
        "id": spec.id,
        "module": _module_of(spec.entry_point),
        "kwargs": _plain(spec.kwargs),
        "max_episode_steps": spec.max_episode_steps,
    }


def _module_of(entry_point: object) -> str | None:
    """Return the module that defines an environment, unless Gymnasium or Sojourn registers it."""
    module = (
        entry_point.partition(":")[0]
        if isinstance(entry_point, str)
        else getattr(entry_point, "__module__", None)
    )
    known = module is None or module.partition(".")[0] in ("gymnasium", "sojourn", "__main__")
    return None if known else module


def _plain(options: Mapping[str, Any]) -> Options | None:
    """Return the options, or None if a file cannot hold some of them."""
    kinds = (bool, int, float, str, type(None))
    return dict(options) if all(isinstance(choice, kinds) for choice in options.values()) else None
