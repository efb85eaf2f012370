"""Worlds made of models: any problem, and any model in a file."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Literal, TypeAlias

from sojourn.models.files import load_model
from sojourn.models.smdp import SMDP
from sojourn.rules.options import Given
from sojourn.worlds.tabular import Tabular, TabularWorld

ACTIONS = ("given", "reversed")
Order: TypeAlias = Literal["given", "reversed"]


def model_in_file(data: str | None = None) -> SMDP:
    """Read the model in a TOML or JSON file."""
    if data is None:
        raise ValueError("data is missing; it must be the TOML or JSON file of a model")
    return load_model(data)


class WorldOfModel:
    """Makes worlds of a model; beside its options they have `actions`: "given", or "reversed" in number.

    >>> from sojourn.models.problems import PROBLEMS
    >>> WorldOfModel(PROBLEMS["long-shot"])(actions="reversed", short_duration=2.0).num_actions
    2
    """

    def __init__(self, model: Callable[..., SMDP]) -> None:
        self.model = model
        own = inspect.Parameter(
            "actions", inspect.Parameter.KEYWORD_ONLY, default=ACTIONS[0], annotation=Order
        )
        others = inspect.signature(model, eval_str=True).parameters.values()
        self.__signature__ = inspect.Signature([*others, own])

    def __call__(self, actions: Order = "given", **options: Given) -> TabularWorld:
        """Return the world of the model with these options."""
        model = self.model(**options)
        return Tabular(model if actions == ACTIONS[0] else model.with_actions_reversed())
