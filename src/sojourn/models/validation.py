"""Validation of a model; each error is one sentence that names the place."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from sojourn.data.numbers import listed, shown
from sojourn.models.laws import KINDS, FlatLaws, means, not_below_zero, sizes
from sojourn.models.structure import named, structure_of
from sojourn.rules.arrays import Floats, Ints, flat_floats, misread, outside, owned

if TYPE_CHECKING:
    from sojourn.models.smdp import SMDP

OWN_AMOUNTS = ("reward", "duration", "steps")  # every model has these
SUM_TOLERANCE = 1e-8  # how far the sum of a pair's probabilities may be from 1; they are then scaled
MEAN_TOLERANCE = 1e-9  # how far a given mean may be from its law's, relative to the size of what was averaged
LARGEST_RATE = 1e200  # sums and products of larger ones would overflow
_LARGEST = float(np.finfo(np.float64).max)
_ROUNDING = 1e-12  # a sum this close to 1 is left as it is

put = object.__setattr__  # a model is frozen once it has been made


def offsets_of(counts: ArrayLike) -> Ints:
    """Return where each part begins, and where the last one ends, given the number of entries of each."""
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


def pair_means(numbers: Floats, probability: Floats, row_offsets: Ints) -> Floats:
    """Return the mean of each pair, given a number for each of its rows; wrong probabilities are refused elsewhere."""
    sums, total = (np.add.reduceat(each, row_offsets[:-1]) for each in (probability * numbers, probability))
    return np.divide(sums, total, out=np.zeros_like(sums), where=total != 0.0)


def make_valid(model: SMDP) -> None:
    """Check the given parts of a model, and compute the parts that follow from them."""
    _check_shape(model)
    _check_names(model)
    _check_rows(model)
    _drop_impossible_rows(model)
    for name in ("reward", "duration"):
        _set_means(model, name)
    _check_means(model)
    _check_counts(model)
    _check_amounts(model)


def make_owned(model: SMDP) -> None:
    """Give a model arrays that no other code can change."""
    for name, thing in list(vars(model).items()):
        if isinstance(thing, np.ndarray):
            put(model, name, owned(thing))
        elif isinstance(thing, FlatLaws):
            put(model, name, FlatLaws(owned(thing.kind), owned(thing.parameters)))
    put(model, "amounts", MappingProxyType({name: owned(each) for name, each in model.amounts.items()}))


def _check_shape(model: SMDP) -> None:
    """Check that the offsets fit together, and that every state has actions in ascending order."""
    for name, offsets in (("pair_offsets", model.pair_offsets), ("row_offsets", model.row_offsets)):
        if len(offsets) < 2 or offsets[0] != 0 or (np.diff(offsets) < 0).any():
            raise ValueError(f"{name} does not ascend from 0; give where each part begins, and the end")
    if model.pair_offsets[-1] != model.num_pairs:
        raise ValueError(
            f"pair_offsets ends at {model.pair_offsets[-1]}, but row_offsets is for {model.num_pairs} pairs"
        )
    for name in ("successor", "probability"):
        if len(getattr(model, name)) != model.row_offsets[-1]:
            raise ValueError(
                f"{name} has {len(getattr(model, name))} entries, but row_offsets ends at {model.row_offsets[-1]}"
            )
    first = model.pair_offsets[:-1]
    idle = np.flatnonzero(np.diff(model.pair_offsets) == 0)
    if idle.size:
        name = f" ({listed(model.state_names[idle[0] : idle[0] + 1])})" if model.state_names else ""
        raise ValueError(f"state {idle[0]}{name} has no action; every state needs at least one")
    if model.action is None:
        counts = np.diff(model.pair_offsets)
        put(model, "action", (np.arange(model.num_pairs) - np.repeat(first, counts)).astype(np.int32))
    else:
        if len(model.action) != model.num_pairs:
            raise _wrong_length("action", len(model.action), model.num_pairs, "pairs")
        rises = np.diff(model.action) > 0
        rises[first[1:] - 1] = True  # where the next state begins
        if model.action.min() < 0 or not rises.all():
            bad = int(model.action.argmin()) if model.action.min() < 0 else int(np.argmin(rises)) + 1
            state = int(np.searchsorted(model.pair_offsets, bad, side="right")) - 1
            raise ValueError(
                f"the actions of state {state} do not ascend; number them from 0 and name each once"
            )


def _wrong_length(name: str, length: int, needed: int, things: str) -> ValueError:
    return ValueError(f"{name} has the length {length}; it must be {needed}, the number of {things}")


def _check_names(model: SMDP) -> None:
    for name, names, count, things in (
        ("state_names", model.state_names, model.num_states, "states"),
        ("action_names", model.action_names, model.num_actions, "actions"),
    ):
        if names is None:
            continue
        if len(names) < count or (name == "state_names" and len(names) > count):
            raise _wrong_length(name, len(names), count, things)
        if len(set(names)) < len(names):
            twice = Counter(names).most_common(1)[0][0]
            raise ValueError(f"{name} has {shown(twice)} twice; names must differ")


def _check_rows(model: SMDP) -> None:
    empty = np.flatnonzero(np.diff(model.row_offsets) == 0)
    if empty.size:
        raise ValueError(f"{model.place(empty[0])} leads nowhere; give it at least one successor")
    if model.successor.min() < 0 or model.successor.max() >= model.num_states:
        row = int(np.argmax((model.successor < 0) | (model.successor >= model.num_states)))
        raise ValueError(
            f"{_row_place(model, row)} leads to state {model.successor[row]}; states are 0 to {model.num_states - 1}"
        )
    if not model.probability.min() >= 0.0:  # true for NaN too
        row = int(np.argmin(model.probability >= 0.0))
        raise ValueError(
            f"{_row_place(model, row)} leads to state {model.successor[row]} with probability "
            f"{model.probability[row]}; it must be at least 0"
        )
    sums = np.add.reduceat(model.probability, model.row_offsets[:-1])
    away = np.abs(sums - 1.0)
    if not away.max() <= SUM_TOLERANCE:
        pair = int(np.argmin(away <= SUM_TOLERANCE))
        raise ValueError(
            f"the probabilities of {model.place(pair)} sum to {sums[pair]:.9g}; "
            f"they must sum to 1 within {SUM_TOLERANCE:g}"
        )
    if away.max() > _ROUNDING:
        sums[away <= _ROUNDING] = 1.0
        put(model, "probability", model.probability / np.repeat(sums, np.diff(model.row_offsets)))


def _row_place(model: SMDP, row: int) -> str:
    return model.place(int(np.searchsorted(model.row_offsets, row, side="right")) - 1)


def _drop_impossible_rows(model: SMDP) -> None:
    possible = model.probability > 0.0
    if possible.all():
        return
    rows = model.num_rows
    kept = np.add.reduceat(possible, model.row_offsets[:-1], dtype=np.int64)
    for name in ("row_reward", "row_duration"):
        values = getattr(model, name)
        if values is not None and len(values) == rows:
            put(model, name, values[possible])
    for name in ("reward_law", "duration_law"):
        laws = getattr(model, name)
        if laws is not None and len(laws) == rows:
            put(model, name, FlatLaws(laws.kind[possible], laws.parameters[possible]))
    put(model, "successor", model.successor[possible])
    put(model, "probability", model.probability[possible])
    put(model, "row_offsets", offsets_of(kept))


def _set_means(model: SMDP, name: str) -> None:
    """Compute the mean of each pair from what was given, and check that everything given agrees."""
    laws = getattr(model, f"{name}_law")
    if laws is not None:
        _check_laws(name, laws)
        by_law, size = means(laws), sizes(laws)
        if len(laws) == model.num_rows != model.num_pairs:
            _agree(model, f"row_{name}", by_law, size, functools.partial(_row_place, model))
        elif len(laws) == model.num_pairs:
            _agree(model, name, by_law, size, model.place)
        else:
            raise ValueError(
                f"{name}_law has the length {len(laws)}; it must be {model.num_pairs}, the number of pairs, "
                f"or {model.num_rows}, the number of rows"
            )
    by_row = getattr(model, f"row_{name}")
    if by_row is not None:
        if len(by_row) != model.num_rows:
            raise _wrong_length(f"row_{name}", len(by_row), model.num_rows, "rows")
        _check_numbers(model, name, by_row, functools.partial(_row_place, model))
        mean, size = (
            np.add.reduceat(model.probability * each, model.row_offsets[:-1])
            for each in (by_row, np.abs(by_row))
        )
        _agree(model, name, mean, size, model.place)
    if getattr(model, name) is None:
        raise ValueError(f"there is no {name}; give the mean {name} of each pair")


def _check_laws(name: str, laws: FlatLaws) -> None:
    wrong = (
        misread(f"{name}_law.kind", laws.kind, np.int8, (None,))
        or misread(f"{name}_law.parameters", laws.parameters, np.float64, (len(laws), 3))
        or outside(f"{name}_law.kind", laws.kind, 0, len(KINDS) - 1)
        or outside(f"{name}_law.parameters", laws.parameters, -_LARGEST, _LARGEST)
    )
    if wrong:
        raise ValueError(f"{wrong}; make laws with sojourn.models.laws")


def _agree(model: SMDP, name: str, found: Floats, size: Floats, place: Callable[[int], str]) -> None:
    """Set the means, or check that the given ones are the same."""
    given = getattr(model, name)
    if given is None:
        put(model, name, found)
        return
    if len(given) != len(found):
        raise ValueError(f"{name} has the length {len(given)}; it must be {len(found)}")
    apart = ~(np.abs(given - found) <= MEAN_TOLERANCE * size)
    if apart.any():
        at = int(np.argmax(apart))
        raise ValueError(
            f"the mean {name} of {place(at)} is given as {given[at]:.9g}, but its law has the mean {found[at]:.9g}; "
            "leave the mean out, or make them agree"
        )


def _check_means(model: SMDP) -> None:
    for name in ("reward", "duration"):
        numbers = getattr(model, name)
        if len(numbers) != model.num_pairs:
            raise _wrong_length(name, len(numbers), model.num_pairs, "pairs")
        _check_numbers(model, name, numbers, model.place)
    with np.errstate(over="ignore"):
        # A step that takes no time has no rate of its own; its reward is compared with a duration of 1.
        rates = np.abs(model.reward) / np.where(model.duration > 0.0, model.duration, 1.0)
    if not rates.max() < LARGEST_RATE:
        at = int(np.argmax(rates))
        raise ValueError(
            f"the reward of {model.place(at)} is {model.reward[at]:.9g} in a duration of {model.duration[at]:.9g}; "
            f"a reward per unit time must be less than {LARGEST_RATE:g}"
        )
    _check_time_passes(model)
    if model.duration_law is not None:
        good = not_below_zero(model.duration_law)
        if not good.all():
            at = int(np.argmin(good))
            place = model.place if len(good) == model.num_pairs else functools.partial(_row_place, model)
            raise ValueError(
                f"the duration of {place(at)} has the law {model.duration_law.law(at)}; "
                "it must give no number below 0"
            )


def _check_time_passes(model: SMDP) -> None:
    """Refuse a model in which a policy can go on for ever without time passing."""
    timeless = model.duration == 0.0
    if timeless.any():
        stuck = structure_of(model, timeless).parts
        if stuck:
            raise ValueError(
                f"a policy can stay in {named(model, stuck[0])} for ever without time passing; "
                "give one of the actions there a duration above 0, or make one lead out"
            )


def _check_counts(model: SMDP) -> None:
    if model.counts is None:
        return
    if len(model.counts) != model.num_pairs:
        raise _wrong_length("counts", len(model.counts), model.num_pairs, "pairs")
    if model.counts.min() < 1:
        at = int(model.counts.argmin())
        raise ValueError(f"the count of {model.place(at)} is {model.counts[at]}; it must be at least 1")


G = TypeVar("G")


def by_name(what: str, given: Mapping[str, G] | None) -> Mapping[str, G]:
    """Return what is given for amounts by their names; None stands for none."""
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"{what} is {shown(given)}; it must be a dictionary by the names of amounts")
    return given or {}


def amounts_in(given: Mapping[str, ArrayLike] | None) -> dict[str, Floats]:
    """Return the amounts of a model as arrays by name."""
    found = {}
    for name, each in by_name("amounts", given).items():
        if not isinstance(name, str) or not name or name in OWN_AMOUNTS:
            own = f"{', '.join(OWN_AMOUNTS[:-1])} and {OWN_AMOUNTS[-1]} are amounts of every model"
            raise ValueError(f"an amount has the name {shown(name)}; it must be a text, and {own}")
        found[name] = flat_floats(f"the amount {shown(name)}", each)
    return found


def _check_amounts(model: SMDP) -> None:
    for name, numbers in model.amounts.items():
        if len(numbers) != model.num_pairs:
            raise _wrong_length(f"the amount {shown(name)}", len(numbers), model.num_pairs, "pairs")
        _check_numbers(model, f"amount {shown(name)}", numbers, model.place)
        if not np.abs(numbers).max() < LARGEST_RATE:
            at = int(np.abs(numbers).argmax())
            raise ValueError(
                f"the amount {shown(name)} of {model.place(at)} is {numbers[at]}; it must be less than {LARGEST_RATE:g}"
            )


def check_divisor(model: SMDP, name: str, numbers: Floats) -> None:
    """Refuse an amount that can be negative, or that can stay 0 for ever, so that nothing can be divided by it."""
    if numbers.min() < 0.0:
        at = int(numbers.argmin())
        raise ValueError(
            f"the amount {shown(name)} of {model.place(at)} is {numbers[at]:.9g}; to count per {name}, it must be at least 0 "
            "everywhere"
        )
    if (numbers == 0.0).any():
        stuck = structure_of(model, numbers == 0.0).parts
        if stuck:
            raise ValueError(
                f"a policy can stay in {named(model, stuck[0])} for ever with {name} 0, so nothing can be counted per {name}; "
                "count per another amount, or leave out an action there"
            )


def _check_numbers(model: SMDP, name: str, numbers: Floats, place: Callable[[int], str]) -> None:
    bounded = name == "duration"
    good = np.isfinite(numbers) & (numbers >= (0.0 if bounded else -np.inf))
    if not good.all():
        at = int(np.argmin(good))
        limits = "finite and at least 0" if bounded else "finite"
        raise ValueError(f"the {name} of {place(at)} is {numbers[at]}; it must be {limits}")
