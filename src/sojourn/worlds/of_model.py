"""Worlds made from models: any problem, any model in a file, and any model that a user's own function makes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from sojourn.data.hints import Given, option_kinds
from sojourn.data.names import made
from sojourn.data.numbers import shown
from sojourn.models.files import load_model
from sojourn.models.smdp import SMDP
from sojourn.worlds.protocol import World, start, step
from sojourn.worlds.tabular import Tabular, TabularWorld

Order: TypeAlias = Literal["given", "reversed"]
ACTIONS: tuple[Order, Order] = ("given", "reversed")


_ORDER = inspect.Parameter("actions", inspect.Parameter.KEYWORD_ONLY, default="given", annotation=Order)


def model_in_file(data: str | None = None) -> SMDP:
    """Read the model in a TOML or JSON file."""
    if data is None:
        raise ValueError("data is missing; it must be the TOML or JSON file of a model")
    return load_model(data)


class WorldOfModel:
    """Makes worlds from a model; besides the model's options there is `actions`, the order of its actions: "given" or "reversed".

    >>> from sojourn.models.problems import PROBLEMS
    >>> WorldOfModel(PROBLEMS["long-shot"])(actions="reversed", short_duration=2.0).num_actions
    2
    """

    def __init__(self, model: Callable[..., SMDP]) -> None:
        self.model = model
        others = inspect.signature(model, eval_str=True).parameters.values()
        self.__signature__ = inspect.Signature([*others, _ORDER])

    def __call__(self, actions: Order = "given", **options: Given) -> TabularWorld:
        """Return the world of the model with these options."""
        return _ordered(self.model(**options), actions)


def _ordered(model: SMDP, actions: Order) -> TabularWorld:
    return Tabular(model if actions == ACTIONS[0] else model.with_actions_reversed())


class WorldOfUser:
    """Makes worlds with a user's own function or class; if it makes models, there is also the option `actions`."""

    def __init__(self, name: str, make: Callable[..., Any]) -> None:
        self.name, self.make = name, make
        kinds = option_kinds(make)
        own = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=kinds[parameter.name])
            for parameter in inspect.signature(make).parameters.values()
            if parameter.name in kinds
        ]
        self._has_order = "actions" in kinds
        self.__signature__ = inspect.Signature(own if self._has_order else [*own, _ORDER])

    def __call__(self, **options: Any) -> World:
        """Return the world with these options."""
        order: Order | None = None if self._has_order else options.pop("actions", None)
        thing = made(self.name, self.make, **options)
        if isinstance(thing, SMDP):
            return _ordered(thing, order or ACTIONS[0])
        if not (start.knows(type(thing)) and step.knows(type(thing))):
            raise TypeError(
                f"{self.name!r} makes {shown(thing)}, which is neither a model nor a world (a NamedTuple with start "
                "and step registered for it)"
            )
        if order is not None:
            raise ValueError(
                f"actions is given, but {self.name!r} does not make a model; only actions of a model can be reversed"
            )
        world: World = thing
        return world
