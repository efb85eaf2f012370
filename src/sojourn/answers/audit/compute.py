"""Audit a model by name, and make a record of the audit."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from sojourn import __version__
from sojourn.answers.audit.record import Answer, Audited, Frontier, Kept, Limit, LockIn, Made
from sojourn.data.files import JsonObject
from sojourn.exact.audit.audit import Audit, audit
from sojourn.models.problems.named import named_model
from sojourn.rates.named import named_rate
from sojourn.runs.named import refuse_world


def audit_named(
    name: str,
    options: JsonObject,
    policy: list[int] | None = None,
    exploration: float = 0.2,
    estimators: Sequence[str] = (),
) -> Answer:
    """Audit a problem by name, or the model in a file, under a policy, or under an optimal one if none is given.

    `estimators` are the names of users' own estimators, such as `mine:Forgetting`, to be audited besides ours.

    >>> found = audit_named("long-return", {}).audited
    >>> found.gain, round(found.low, 6), found.high
    (10.0, 7.55102, None)
    >>> found["Harmonic"].rate, found["Harmonic"].keeps_optimum, round(found["Harmonic"].drift, 6)
    (7.5, False, 1.6875)
    """
    refuse_world(name, "audit")
    model = named_model(name, options)
    found = audit(model, policy, exploration=exploration)
    if estimators:
        own = {estimator: named_rate(estimator) for estimator in estimators}
        theirs = audit(model, found.policy, own, exploration=exploration)
        both = {**found.estimators, **theirs.estimators}
        found = dataclasses.replace(found, limits=found.limits + theirs.limits, estimators=both)
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
        exploration=found.exploration,
        held=found.held is not None,
        held_low=None if found.held is None else _finite(found.held[0]),
        held_high=None if found.held is None else _finite(found.held[1]),
        num_policies=float(found.num_policies),
        complete=found.complete,
        self_confirming=tuple(_lock_in(found, limit.estimator) for limit in found),
    )


def _lock_in(found: Audit, estimator: str) -> LockIn:
    kept = found.self_confirming.get(estimator)
    return LockIn(
        estimator=estimator,
        known=kept is not None,
        policies=tuple(
            Kept(tuple(one.policy.tolist()), one.gain, one.rate, one.drift, _finite(one.margin), one.trap)
            for one in kept or ()
        ),
    )


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None
