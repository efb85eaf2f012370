"""Audit a model by name, and make a record of the answer."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from sojourn import __version__
from sojourn.exact.audit.audit import Audit, audit
from sojourn.models.problems.named import named_model
from sojourn.rates.named import named_rate
from sojourn.rules.records import Options
from sojourn.studies.audit.answer import Answer, Audited, Frontier, Limit, Made


def audit_named(
    name: str, options: Options, policy: list[int] | None = None, estimators: Sequence[str] = ()
) -> Answer:
    """Audit a problem by name, or the model in a file, under a policy; an optimal one if none is given.

    `estimators` are names of users' own, such as `mine:Forgetting`, to be audited beside ours.

    >>> found = audit_named("long-return", {}).audited
    >>> found.gain, round(found.low, 6), found.high
    (10.0, 7.55102, None)
    >>> found["Harmonic"].rate, found["Harmonic"].keeps_optimum, found["Harmonic"].drift
    (7.5, False, 6.25)
    """
    model = named_model(name, options)
    found = audit(model, policy)
    if estimators:
        own = audit(model, found.policy, {estimator: named_rate(estimator) for estimator in estimators})
        found = dataclasses.replace(found, limits=found.limits + own.limits)
    return Answer(audited(name, found), Made(options, __version__))


def audited(name: str, found: Audit) -> Audited:
    """Return an audit as a record."""
    frontier = found.frontier()
    return Audited(
        name=name,
        states=found.model.num_states,
        policy=tuple(found.policy.tolist()),
        gain=found.gain,
        best_gain=found.best_gain,
        low=_finite(found.low),
        high=_finite(found.high),
        estimators=tuple(
            Limit(
                estimator=limit.estimator,
                agents=tuple(limit.agents),
                rate=_finite(limit.rate),
                error=_finite(limit.error),
                keeps_optimum=limit.keeps_optimum,
                greedy_gain=_finite(limit.greedy_gain),
                drift=_finite(limit.drift),
                settled_gain=_finite(limit.settled_gain),
            )
            for limit in found
        ),
        frontier=Frontier(
            tuple(frontier.rate.tolist()), tuple(frontier.value.tolist()), tuple(frontier.gain.tolist())
        ),
    )


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None
