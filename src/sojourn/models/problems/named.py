"""Models by name: the problems, and models in files, as commands and sweeps call for them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sojourn.models import load_model
from sojourn.models.problems import PROBLEMS
from sojourn.models.smdp import SMDP
from sojourn.rules.numbers import nearest, shown


def named_model(name: str, options: Mapping[str, Any] | None = None) -> SMDP:
    """Return a problem by name with these options, or the model in a TOML or JSON file.

    >>> named_model("river-swim", {"num_states": 4})
    SMDP(4 states, 8 pairs, 14 rows)
    """
    options = dict(options or {})
    if name in PROBLEMS:
        known = inspect.signature(PROBLEMS[name]).parameters
        for option in options:
            if option not in known:
                hint = nearest(option, known) if known else "; it has none"
                raise ValueError(f"{name} has no option {option!r}{hint}")
        return PROBLEMS[name](**options)
    if is_file(name):
        if options:
            raise ValueError(f"{name} is a file, which takes no options; change it in the file")
        return load_model(name)
    raise ValueError(f"there is no problem {name!r}{nearest(name, PROBLEMS)}")


def is_file(name: str) -> bool:
    """Whether a name is that of a file rather than of a problem."""
    return name not in PROBLEMS and (Path(name).suffix in (".toml", ".json") or Path(name).is_file())


def _for_sweeps(problem: Callable[..., SMDP]) -> Callable[..., SMDP]:
    """Return a problem that takes 20.0 for 20: every number of a sweep is a float."""
    usual = {
        parameter.name: parameter.default for parameter in inspect.signature(problem).parameters.values()
    }

    @functools.wraps(problem)
    def made(**options: Any) -> SMDP:
        for name, given in options.items():
            if isinstance(usual.get(name), tuple) and not isinstance(given, list | tuple):
                raise TypeError(
                    f"{name} is {shown(given)}, but is a list, which a sweep takes for several choices; "
                    "write the model into a file, and give that as the data of a world of the kind model"
                )
            if type(usual.get(name)) is int and isinstance(given, float) and given.is_integer():
                options[name] = int(given)
        return problem(**options)

    return made


def _in_file(data: str | None = None) -> SMDP:
    if data is None:
        raise ValueError("data is missing; it must be the TOML or JSON file of a model")
    return load_model(data)


# The models by the names that sweeps call them; a `model` is that in the file `data`.
MODELS: dict[str, Callable[..., SMDP]] = {
    "model": _in_file,
    **{name.replace("-", "_"): _for_sweeps(problem) for name, problem in PROBLEMS.items()},
}
