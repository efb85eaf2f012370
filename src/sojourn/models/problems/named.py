"""Models by the names that commands use: problems, files, and functions of the user."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path

from sojourn.data.hints import Given, fitted
from sojourn.data.names import is_users, made, users_constructor
from sojourn.data.numbers import nearest, shown
from sojourn.models.files import load_model
from sojourn.models.problems.catalogue import PROBLEMS, SEVERAL_GAINS
from sojourn.models.smdp import SMDP


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
            f"{name!r} returns {shown(model)}; it must return a model, as the functions of sojourn.model do"
        )
    return model


def is_file(name: str) -> bool:
    """Whether a name stands for a file rather than a problem."""
    return (
        name not in PROBLEMS
        and name not in SEVERAL_GAINS
        and (Path(name).suffix in (".toml", ".json") or Path(name).is_file())
    )
