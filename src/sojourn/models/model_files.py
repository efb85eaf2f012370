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

`states` and `actions` are lists of names, of numbers or of lists of these, such as [[0, 0], [0, 1]], which become tuples. A
state is then given as it stands there, or by its text, such as "(0, 1)"; keys of tables are always texts. `states` and
`actions` may also be counts; states and actions are then given by number. A pair may have `rates`, what it is `earning` per
unit time and `flows` in place of reward, duration and next, as in `sojourn.models.from_dict`. A reward or a duration is a number or a law; an outcome without one has that of its pair. If a model was estimated, each pair has its
number of observations as its `count`. A pair or an outcome may have further amounts, `amounts = { lost = 1.0 }`. The laws are constant (value), exponential (mean), gamma (shape, scale), uniform (low,
high), floored_normal (location, scale, floor), two_point (low, high, probability), weibull (shape, scale), lognormal (median,
sigma) and empirical (values, a list of samples, which become outcomes). Gamma, uniform, weibull and lognormal laws may be
given by their mean and standard deviation instead: `{ law = "weibull", mean = 40.0, deviation = 12.0 }`.
"""

from __future__ import annotations

import functools
import inspect
import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sojourn.data.files import load_json, load_toml, write_text
from sojourn.data.hints import Given, fitted
from sojourn.data.names import found, is_users, made, users_constructor
from sojourn.data.numbers import nearest, shown, whole
from sojourn.models.dictionaries import ENTRIES, LAWS, Content, as_list, known, outcomes_of
from sojourn.models.laws import Constant, Law
from sojourn.models.problems.catalogue import PROBLEMS, SEVERAL_GAINS
from sojourn.models.smdp import SMDP
from sojourn.models.transitions import Label, Transition, from_transitions
from sojourn.rules.door import told, warn

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
        state_names=None if isinstance(states, int) else list(states.values()),
        action_names=None if isinstance(actions, int) else list(actions.values()),
    )
    for what, stated, used in (
        ("states", states, model.num_states),
        ("actions", actions, model.num_actions),
    ):
        if isinstance(stated, int) and (stated < used or (what == "states" and stated != used)):
            raise ValueError(f"the file says that there are {stated} {what}, but its pairs have {used}")
    return _with_counts(model, content["pairs"], states, actions)


def _with_counts(
    model: SMDP, entries: list[Content], states: int | dict[str, Label], actions: int | dict[str, Label]
) -> SMDP:
    """Return a model with the counts of its pairs, if they have any."""
    missing = [number for number, entry in enumerate(entries) if "count" not in entry]
    if len(missing) == len(entries):
        return model
    if missing:
        raise ValueError(f"pair {missing[0]} has no count, but others have; give all of them or none")
    counts = np.zeros(model.num_pairs, dtype=np.int64)
    for number, entry in enumerate(entries):
        state = model.state_number(_named("state", entry["state"], states))
        action = model.action_number(_named("action", entry["action"], actions))
        counts[model.pair(state, action)] = whole(f"the count of pair {number}", entry["count"])
    return model.with_counts(counts)


def _names(what: str, given: Content) -> int | dict[str, Label]:
    """Return the number of states or actions, or their labels by text."""
    if isinstance(given, list):
        labels = [_as_label(what, each) for each in given]
        names = dict(zip(map(str, labels), labels, strict=True))
        if len(names) < len(labels):
            twice = Counter(map(str, labels)).most_common(1)[0][0]
            raise ValueError(f"{what} has {shown(twice)} twice; names must differ")
        return names
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    raise TypeError(f"{what} is {shown(given)}; it must be a whole number or a list of names")


def _as_label(what: str, given: Content) -> Label:
    """Return a label that stands in a file: a name, a number, or a list of these, which becomes a tuple."""
    if isinstance(given, list):
        return tuple(_as_label(what, each) for each in given)
    if not isinstance(given, str | int | float):
        raise TypeError(f"{what} has {shown(given)}; give names, numbers, or lists of these")
    return given


def _named(place: str, given: Content, names: int | dict[str, Label]) -> Label:
    """Return a state or an action; the keys of tables are text even if they stand for numbers."""
    if isinstance(names, int):
        if isinstance(given, str) and given.isdecimal() and len(given) < 10:
            return int(given)
        if isinstance(given, bool) or not isinstance(given, int):
            raise TypeError(
                f"{place} is {shown(given)}; it must be a number from 0 to {names - 1}, because the file gives no names"
            )
        return given
    label = _as_label(place, given)
    known_as = names.get(str(label))
    if known_as is None:
        raise ValueError(f"{place} is {shown(label)}, which is not in the list{nearest(label, names)}")
    return known_as


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
    states, actions = _written_labels("states", model.labels), _written_labels("actions", model.action_labels)
    texts = [str(_as_label("states", each)) for each in states]
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
        entry: dict[str, Content] = {"state": states[state], "action": actions[action]}
        successors = [texts[model.successor[row]] for row in rows]
        chances = model.probability[rows.start : rows.stop].tolist()
        if alike:
            entry |= quantities[0]
        if alike and len(set(successors)) == len(successors):
            entry["next"] = dict(zip(successors, chances, strict=True))
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
        "states": model.num_states if model.state_names is None else states,
        "actions": model.num_actions if model.action_names is None else actions,
        "pairs": pairs,
    }


def _written_labels(what: str, labels: Sequence[Label]) -> list[Content]:
    """Return labels as a file can hold them: as they are, or else all as texts, with a warning."""
    try:
        return list(map(_written_label, labels))
    except TypeError as strange:
        warn(
            f"the file has the {what} as texts, because it cannot hold values such as {strange}; numbers, names and tuples "
            "of these are kept"
        )
        return list(map(str, labels))


def _written_label(label: Any) -> Content:
    if isinstance(label, tuple):
        return list(map(_written_label, label))
    plain = label.item() if isinstance(label, np.generic) else label
    if type(plain) not in (str, int, float, bool) or (type(plain) is float and not math.isfinite(plain)):
        raise TypeError(shown(label))
    return plain


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
    value = value.item() if isinstance(value, np.generic) else value
    return json.dumps(value) if isinstance(value, bool) else repr(value)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _toml(key)


# --- By name ------------------------------------------------------------------------------


def named_model(name: str, options: Mapping[str, Given] | None = None) -> SMDP:
    """Return a problem by name with these options, or the model in a TOML or JSON file.

    A name such as `package.module:name` stands for a user's own model, for a function that returns it, or, with the option
    `start`, for a function that says how a state moves.

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
    """Return a user's model: itself, what a function of the options returns, or what a function of a state leads to."""
    thing = found(name)
    if isinstance(thing, SMDP):
        if options:
            raise ValueError(
                f"{name!r} is a model, which takes no options; name a function that makes it of them"
            )
        return thing
    make = users_constructor(name)
    known = inspect.signature(make).parameters
    if known and "start" in options and "start" not in known:
        from sojourn.models.explore import MOST_STATES, explore  # noqa: PLC0415 - few need it, learners do not

        given = {key: option for key, option in options.items() if key not in ("start", "most_states")}
        most = whole("most_states", options.get("most_states", MOST_STATES))  # type: ignore[arg-type] # it looks
        moves = functools.partial(make, **fitted(make, given, besides=(next(iter(known)),)))
        return explore(_as_label("start", options["start"]), moves, most_states=most, progress=True)
    needed = [each for each, about in known.items() if about.default is about.empty and about.kind < 2]
    if len(needed) == 1 and needed[0] not in options:
        raise ValueError(
            f"{name!r} takes {needed[0]}; if it says how a state moves, say where to begin, as in --option start=0 or "
            f"start=[0,0], else give --option {needed[0]}=..."
        )
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
