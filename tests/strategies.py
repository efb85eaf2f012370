"""Hypothesis strategies shared by the tests."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

import naive_audit
from sojourn.models import SMDP, from_transitions
from sojourn.models.laws import Outcomes, TwoPoint

# Rates as they occur, with room to be added and multiplied without leaving the floats.
magnitudes = st.floats(min_value=1e-6, max_value=1e6)
signed = st.one_of(magnitudes, magnitudes.map(lambda x: -x))
with_zeros = st.one_of(signed, st.just(0.0))

one_sign = st.lists(magnitudes, min_size=1, max_size=30)
samples = st.lists(with_zeros, min_size=1, max_size=30)
transitions = st.lists(st.tuples(with_zeros, magnitudes), min_size=1, max_size=30)


_rewards = st.one_of(st.just(Fraction(0)), st.integers(-24, 24).map(lambda n: Fraction(n, 4)))
_durations = st.integers(1, 24).map(lambda n: Fraction(n, 4))


@st.composite
def fraction_models(
    draw: st.DrawFn, most_states: int = 4, most_actions: int = 3, joint: bool = True
) -> naive_audit.Model:
    """Small models, each state with some of the actions, the first of them on to the next state."""
    num_states = draw(st.integers(1, most_states))
    model: naive_audit.Model = []
    for state in range(num_states):
        actions = draw(st.sets(st.integers(0, most_actions - 1), min_size=1))
        state_law: dict[int, list[naive_audit.Outcome]] = {}
        for number, action in enumerate(sorted(actions)):
            count = draw(st.integers(1, 3 if joint else 2))
            weights = [draw(st.integers(1, 4)) for _ in range(count)]
            after = [draw(st.integers(0, num_states - 1)) for _ in range(count)]
            if number == 0:
                after[0] = (
                    state + 1
                ) % num_states  # so that it is possible to go from every state to every other
            state_law[action] = [
                (Fraction(weight, sum(weights)), successor, draw(_rewards), draw(_durations))
                for weight, successor in zip(weights, after, strict=True)
            ]
        model.append(state_law)
    return model


def model_of_fractions(fractions: naive_audit.Model) -> SMDP:
    """The model with an Outcomes for each next state, or a TwoPoint where only the reward varies, or constants."""
    rows: list[Any] = []
    for state, actions in enumerate(fractions):
        for action, outcomes in actions.items():
            for successor in sorted({after for _, after, _, _ in outcomes}):
                here = [(p, r, d) for p, after, r, d in outcomes if after == successor]
                total = sum(p for p, _, _ in here)
                law: tuple[Any, ...]
                if len(here) == 1:
                    law = (float(here[0][1]), float(here[0][2]))
                elif len(here) == 2 and here[0][2] == here[1][2]:
                    law = (
                        TwoPoint(float(here[0][1]), float(here[1][1]), float(here[1][0] / total)),
                        float(here[0][2]),
                    )
                else:
                    law = (Outcomes([(float(p / total), float(r), float(d)) for p, r, d in here]),)
                rows.append((state, action, successor, float(total), *law))
    return from_transitions(rows)
