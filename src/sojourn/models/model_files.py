"""Models in TOML or JSON files, and models by the names that commands use: files, problems, functions of the user.

A TOML and a JSON file have the same content, with one entry for each state and action:

    states = ["up", "down"]
    actions = ["run", "mend"]

    [[pairs]]
    state = "up"
    action = "run"
    reward = 5.0
    duration = { law = "gamma", shape = 2.0, scale = 0.5 }
    next = { up = 0.9, down = 0.1 }

    [[pairs]]
    state = "down"
    action = "mend"
    outcomes = [
        { next = "up", probability = 0.5, reward = -1.0, duration = 1.0 },
        { next = "up", probability = 0.5, reward = -4.0, duration = 2.0 },
    ]

`states` and `actions` are lists of names. They may also be counts; states and actions are then given by number. A reward
or a duration is a number or a law; an outcome without one has that of its pair. If a model was estimated, each pair has its
number of observations as its `count`. A pair or an outcome may have further amounts, `amounts = { lost = 1.0 }`. The laws are constant (value), exponential (mean), gamma (shape, scale), uniform (low,
high), floored_normal (location, scale, floor), two_point (low, high, probability), weibull (shape, scale), lognormal (median,
sigma) and empirical (values, a list of samples, which become outcomes). Gamma, uniform, weibull and lognormal laws may be
given by their mean and standard deviation instead: `{ law = "weibull", mean = 40.0, deviation = 12.0 }`.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sojourn.data.files import load_json, load_toml, write_text
from sojourn.data.hints import Given, fitted
from sojourn.data.names import is_users, made, users_constructor
from sojourn.data.numbers import nearest, shown, whole
from sojourn.models.dictionaries import ENTRIES, LAWS, Content, as_list, known, outcomes_of
from sojourn.models.laws import Constant, Law
from sojourn.models.problems.catalogue import PROBLEMS, SEVERAL_GAINS
from sojourn.models.smdp import SMDP
from sojourn.models.transitions import Label, Transition, from_transitions
from sojourn.rules.door import told

_TOP = {"states", "actions", "pairs"}


# --- Reading ------------------------------------------------------------------------------


@told
def load_model(path: str | Path) -> SMDP:
    """Return the model in a TOML or JSON file.

    >>> import tempfile
    >>> text = '''
    ... states = ["idle"]
    ... actions = ["wait", "work"]
    ... [[pairs]]
    ... state = "idle"
    ... action = "wait"
    ... reward = 0.0
    ... duration = 1.0
    ... next = { idle = 1.0 }
    ... [[pairs]]
    ... state = "idle"
    ... action = "work"
    ... reward = 3.0
    ... duration = { law = "exponential", mean = 2.0 }
    ... next = { idle = 1.0 }
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     count = Path(folder, "shop.toml").write_text(text)
    ...     model = load_model(Path(folder, "shop.toml"))
    >>> model.reward / model.duration
    array([0. , 1.5])
    """
    path = Path(path)
    content = load_json(path) if path.suffix == ".json" else load_toml(path)
    try:
        return parse_model(content)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{path}: {error}") from None


def parse_model(content: Content) -> SMDP:
    """Return the model that is described by the content of a file.

    >>> model = parse_model({"states": 1, "actions": ["wait"], "pairs": [
    ...     {"state": 0, "action": "wait", "reward": 3.0, "duration": 2.0, "next": {"0": 1.0}}]})
    >>> model.reward, model.duration, model.action_names
    (array([3.]), array([2.]), ('wait',))
    """
    known("the file", content, _TOP, _TOP)
    states, actions = _names("states", content["states"]), _names("actions", content["actions"])
    rows: list[Transition] = []
    for number, pair in enumerate(as_list("pairs", content["pairs"])):
        place = f"pair {number}"
        known(place, pair, ENTRIES | {"state", "action", "count"}, {"state", "action"})
        state = _named(f"state of {place}", pair["state"], states)
        action = _named(f"action of {place}", pair["action"], actions)
        for following, chance, reward, duration, amounts in outcomes_of(place, pair):
            after = _named(f"next of {place}", following, states)
            rows.append((state, action, after, chance, reward, duration, amounts))
    model = from_transitions(
        rows,
        state_names=None if isinstance(states, int) else states,
        action_names=None if isinstance(actions, int) else actions,
    )
    for what, stated, found in (
        ("states", states, model.num_states),
        ("actions", actions, model.num_actions),
    ):
        if isinstance(stated, int) and (stated < found or (what == "states" and stated != found)):
            raise ValueError(f"the file says that there are {stated} {what}, but its pairs have {found}")
    return _with_counts(model, content["pairs"])


def _with_counts(model: SMDP, entries: list[Content]) -> SMDP:
    """Return a model with the counts of its pairs, if they have any."""
    missing = [number for number, entry in enumerate(entries) if "count" not in entry]
    if len(missing) == len(entries):
        return model
    if missing:
        raise ValueError(f"pair {missing[0]} has no count, but others have; give all of them or none")
    counts = np.zeros(model.num_pairs, dtype=np.int64)
    for number, entry in enumerate(entries):
        state, action = (
            names.index(entry[key]) if names else int(entry[key])
            for key, names in (("state", model.state_names), ("action", model.action_names))
        )
        counts[model.pair(state, action)] = whole(f"the count of pair {number}", entry["count"])
    return model.with_counts(counts)


def _names(what: str, given: Content) -> int | list[str]:
    """Return the number of states or actions, or their names."""
    if isinstance(given, list) and all(isinstance(name, str) for name in given):
        names: list[str] = given
        return names
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    raise TypeError(f"{what} is {shown(given)}; it must be a whole number or a list of names")


def _named(place: str, given: Content, names: int | list[str]) -> Label:
    """Return a state or an action; the keys of tables are text even if they stand for numbers."""
    if isinstance(names, int) and isinstance(given, str) and given.isdecimal() and len(given) < 10:
        return int(given)
    if isinstance(names, int) and (isinstance(given, bool) or not isinstance(given, int)):
        raise TypeError(
            f"{place} is {shown(given)}; it must be a number from 0 to {names - 1}, because the file gives no names"
        )
    if isinstance(names, list) and not isinstance(given, str):
        raise TypeError(f"{place} is {shown(given)}; it must be a name")
    label: Label = given
    return label


# --- Writing ------------------------------------------------------------------------------


@told
def save_model(model: SMDP, path: str | Path) -> None:
    """Write a model to a TOML or JSON file, from which `load_model` makes the same model.

    >>> import tempfile
    >>> from sojourn.models.problems import long_shot
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(long_shot(), Path(folder, "long-shot.toml"))
    ...     load_model(Path(folder, "long-shot.toml")).reward
    array([ 5., 12.])
    """
    path = Path(path)
    content = model_content(model)
    text = json.dumps(content, indent=1) if path.suffix == ".json" else _as_toml(content)
    write_text(path, text + "\n")


def model_content(model: SMDP) -> dict[str, Content]:
    """Return the content of a file that describes a model."""
    state_name = list(model.state_names or range(model.num_states))
    action_name = list(model.action_names or range(model.num_actions))
    reward, duration, by_rows = model.flat_laws()
    pairs = []
    for pair, (state, action) in enumerate(zip(model.state_of_pair(), model.action, strict=True)):
        rows = range(model.row_offsets[pair], model.row_offsets[pair + 1])
        places = list(rows) if by_rows else [pair] * len(rows)
        quantities = [
            {"reward": _written(reward.law(place)), "duration": _written(duration.law(place))}
            for place in places
        ]
        alike = all(each == quantities[0] for each in quantities)
        entry: dict[str, Content] = {"state": state_name[state], "action": action_name[action]}
        successors = [state_name[model.successor[row]] for row in rows]
        chances = model.probability[rows.start : rows.stop].tolist()
        if alike:
            entry |= quantities[0]
        if alike and len(set(successors)) == len(successors):
            entry["next"] = {str(to): chance for to, chance in zip(successors, chances, strict=True)}
        else:
            entry["outcomes"] = [
                {"next": to, "probability": chance, **({} if alike else own)}
                for to, chance, own in zip(successors, chances, quantities, strict=True)
            ]
        if model.amounts:
            entry["amounts"] = {name: float(each[pair]) for name, each in model.amounts.items()}
        if model.counts is not None:
            entry["count"] = int(model.counts[pair])
        pairs.append(entry)
    return {
        "states": list(model.state_names) if model.state_names else model.num_states,
        "actions": list(model.action_names) if model.action_names else model.num_actions,
        "pairs": pairs,
    }


def _written(law: Law) -> float | dict[str, float | str]:
    if isinstance(law, Constant):
        return law.value
    name = next(name for name, kind in LAWS.items() if isinstance(law, kind))
    return {"law": name, **law._asdict()}


def _as_toml(content: dict[str, Content]) -> str:
    lines = [f"{key} = {_toml(content[key])}" for key in ("states", "actions")]
    for pair in content["pairs"]:
        lines += ["", "[[pairs]]"]
        for key, value in pair.items():
            if key == "outcomes":
                lines += ["outcomes = [", *(f"    {_toml(outcome)}," for outcome in value), "]"]
            else:
                lines.append(f"{key} = {_toml(value)}")
    return "\n".join(lines)


def _toml(value: Content) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(key)} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\\x7f", "\\u007f")
    return repr(value.item() if isinstance(value, np.generic) else value)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _toml(key)


# --- By name ------------------------------------------------------------------------------


def named_model(name: str, options: Mapping[str, Given] | None = None) -> SMDP:
    """Return a problem by name with these options, or the model in a TOML or JSON file.

    A name such as `package.module:function` stands for a user's own function that returns the model.

    >>> named_model("river-swim", {"num_states": 4})
    SMDP(4 states, 8 pairs, 14 rows)
    """
    options = options or {}
    make = PROBLEMS.get(name) or SEVERAL_GAINS.get(name)
    if make is not None:
        known = inspect.signature(make).parameters
        for option in options:
            if option not in known:
                hint = nearest(option, known) if known else "; it has none"
                raise ValueError(f"{name} has no option {option!r}{hint}")
        return make(**fitted(make, options))
    if is_file(name):
        if options:
            raise ValueError(f"{name} is a file, which takes no options; change the model in the file")
        return load_model(name)
    if is_users(name):
        return _users_model(name, options)
    raise ValueError(f"there is no problem {name!r}{nearest(name, [*PROBLEMS, *SEVERAL_GAINS])}")


def _users_model(name: str, options: Mapping[str, Given]) -> SMDP:
    make = users_constructor(name)
    model = made(name, make, **fitted(make, options))
    if not isinstance(model, SMDP):
        raise TypeError(
            f"{name!r} returns {shown(model)}; it must return a model, as the functions of sojourn.models do"
        )
    return model


def is_file(name: str) -> bool:
    """Whether a name stands for a file rather than a problem."""
    return (
        name not in PROBLEMS
        and name not in SEVERAL_GAINS
        and (Path(name).suffix in (".toml", ".json") or Path(name).is_file())
    )
