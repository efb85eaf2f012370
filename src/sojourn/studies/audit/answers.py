"""Exact answers about named models, as data for machines: what `solve` and `audit` print and write."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from sojourn import __version__
from sojourn.exact.audit.audit import Audit, audit
from sojourn.exact.solve import solve
from sojourn.models.problems.named import named_model
from sojourn.rules.files import write_text


def solution_of(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the solution of a problem by name, or of a model in a file.

    >>> found = solution_of("long-shot", {})
    >>> found["gain"], found["policy"], found["action_names"]
    (5.0, [0], ['A', 'B'])
    """
    model = named_model(name, options)
    found = solve(model)
    return {
        "name": name,
        "gain": found.gain,
        "lower": found.lower,
        "upper": found.upper,
        "policy": found.policy.tolist(),
        "states": model.num_states,
        "solver": found.solver,
        "seconds": found.seconds,
        "bias": found.bias.tolist(),
        "findings": list(found.findings),
        "state_names": _listed(model.state_names),
        "action_names": _listed(model.action_names),
        "options": options,
        "version": __version__,
    }


def audit_of(name: str, options: dict[str, Any], policy: list[int] | None = None) -> dict[str, Any]:
    """Return the audit of a problem by name, or of a model in a file.

    >>> found = audit_of("long-return", {})
    >>> found["gain"], round(found["low"], 6), found["high"]
    (10.0, 7.55102, None)
    >>> harmonic = found["estimators"][3]
    >>> harmonic["estimator"], harmonic["rate"], harmonic["keeps_optimum"], harmonic["drift"]
    ('Harmonic', 7.5, False, 6.25)
    """
    return {
        "name": name,
        "options": options,
        "version": __version__,
        **audit_data(audit(named_model(name, options), policy)),
    }


def audit_data(found: Audit) -> dict[str, Any]:
    """Return an audit as data; what has no bound is None."""
    frontier = found.frontier()
    return {
        "states": found.model.num_states,
        "policy": found.policy.tolist(),
        "gain": found.gain,
        "best_gain": found.best_gain,
        "low": _bounded(found.low),
        "high": _bounded(found.high),
        "estimators": [limit._asdict() for limit in found],
        "frontier": {name: part.tolist() for name, part in frontier._asdict().items()},
    }


def greedy_for(found: dict[str, Any]) -> str:
    """Return in words the rates for which an optimal policy is greedy."""
    low, high = found["low"], found["high"]
    if low is None and high is None:
        return "every rate"
    if low is None or high is None:
        return f"rates up to {high:.6g}" if low is None else f"rates from {low:.6g} on"
    return f"rates from {low:.6g} to {high:.6g}"


def audit_lines(found: dict[str, Any]) -> list[str]:
    """Return an audit for a terminal."""
    lines = [
        f"{found['name']}: the policy's gain is {found['gain']:.6g}, the optimal one {found['best_gain']:.6g}; "
        f"an optimal policy is greedy for {greedy_for(found)}",
        f"{'estimator':20}{'in the long run':>16}{'error':>11}{'greedy policy':>15}{'its gain':>10}{'drift':>10}",
    ]
    rounding = 1e-12 * max(1.0, *(abs(height) for height in found["frontier"]["value"]))
    error, drift = (
        {each["estimator"]: 0.0 if abs(each[name]) < rounding else each[name] for each in found["estimators"]}
        for name in ("error", "drift")
    )
    lines += [
        f"{(name := each['estimator']):20}{each['rate']:>16.6g}{error[name]:>11.4g}"
        f"{'optimal' if each['keeps_optimum'] else 'not optimal':>15}{each['greedy_gain']:>10.4g}{drift[name]:>10.4g}"
        for each in found["estimators"]
    ]
    return [*lines, "drift: by how much values grow with each step at that rate; 0 at the optimal gain"]


def write(folder: Path, name: str, data: dict[str, Any]) -> None:
    """Write data into a folder that is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / name, json.dumps(data, indent=1) + "\n")


def _bounded(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _listed(names: Any) -> list[str] | None:
    return None if names is None else list(names)
