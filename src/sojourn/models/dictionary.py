"""Models made from a dictionary of states, whose keys are their names."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, TypeAlias

from sojourn.data.numbers import nearest, shown
from sojourn.models.entries import ENTRIES, Content, known, outcomes_of
from sojourn.models.smdp import SMDP
from sojourn.models.transitions import Transition, from_transitions

States: TypeAlias = Mapping[Any, Mapping[Any, Mapping[str, Content]]]  # by any keys


def from_dict(states: States) -> SMDP:
    """Return the model made from `{state: {action: {"reward": ..., "duration": ..., "next": {state: probability}}}}`.

    States and actions may be any keys; their names in the model are `str(key)`, in the order given. A reward or a
    duration is a number or a law of `sojourn.models.laws`. If only one state can follow, `next` may be that state. If
    reward and duration depend on what comes next, give a list of `outcomes` in place of `next`, as in the file of a model.

    >>> from sojourn.exact.solve import solve
    >>> from sojourn.models.laws import Weibull
    >>> model = from_dict({
    ...     "good": {
    ...         "run": {"reward": 40.0, "duration": Weibull.of(mean=8.0, deviation=2.0), "next": {"good": 0.9, "bad": 0.1}},
    ...     },
    ...     "bad": {
    ...         "mend": {"reward": -100.0, "duration": 20.0, "next": "good"},
    ...         "run": {"reward": 0.0, "duration": 8.0, "next": "bad"},
    ...     },
    ... })
    >>> model.state_names, model.action_names
    (('good', 'bad'), ('run', 'mend'))
    >>> solution = solve(model)
    >>> round(solution.gain, 9), [model.action_names[action] for action in solution.policy]  # (400 - 100) / (80 + 20)
    (3.0, ['run', 'mend'])
    """
    if not isinstance(states, Mapping) or not states:
        raise TypeError(f"the states are {shown(states)}; give a dictionary of states, each with its actions")
    names = {state: str(state) for state in states}
    texts = list(names.values())
    if len(set(texts)) < len(texts):
        twice = next(text for text in texts if texts.count(text) > 1)
        raise ValueError(f"two states have the text {shown(twice)}; names must differ")
    rows: list[Transition] = []
    actions: dict[str, Hashable] = {}
    for state, choices in states.items():
        if not isinstance(choices, Mapping) or not choices:
            raise TypeError(
                f"state {shown(state)} has {shown(choices)}; give it a dictionary of at least one action"
            )
        for action, pair in choices.items():
            place = f"state {shown(state)}, action {shown(action)}"
            if actions.setdefault(str(action), action) != action:
                raise ValueError(f"two actions have the text {shown(str(action))}; names must differ")
            known(place, pair, ENTRIES, set())
            given = dict(pair)
            if "next" in given and isinstance(given["next"], Hashable):
                given["next"] = {given["next"]: 1.0}
            for following, chance, reward, duration in outcomes_of(place, given):
                if not isinstance(following, Hashable) or following not in names:
                    raise ValueError(
                        f"{place} leads to {shown(following)}, which is not a state{nearest(str(following), texts)}"
                    )
                rows.append((names[state], str(action), names[following], chance, reward, duration))
    return from_transitions(rows, state_names=texts, action_names=list(actions))
