"""Ties the claims ledger to tests: a test that shows a claim works out its verdict."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from sojourn_paper.claims import load_claims

LEDGER = {claim.id: claim for claim in load_claims()}


def judged(
    as_stated: object, under_condition: object = False, *, as_meant: object = False, other_data: bool = False
) -> str:
    """The verdict on a claim: right as it stands, under the condition in its reason, as meant but not printed, or not.

    What is about the paper's own data, and was tried on others, is not reproduced rather than wrong.
    """
    if as_stated:
        return "holds"
    if as_meant:
        return "slip of notation"
    if under_condition:
        return "holds with a condition"
    return "not reproduced" if other_data else "does not hold"


def shows(claim: str) -> Callable[[Callable[..., str]], Callable[..., None]]:
    """Make a test of a function that measures and returns a verdict: it must be the ledger's."""

    def decorate(check: Callable[..., str]) -> Callable[..., None]:
        @functools.wraps(check)
        def test(**fixtures: Any) -> None:
            assert check(**fixtures) == LEDGER[claim].verdict, f"claims.toml has another verdict on {claim}"

        test.claim = claim  # type: ignore[attr-defined]
        return test

    return decorate


def passes(test: Callable[..., None]) -> bool:
    """Whether a test of another file passes, so that a verdict can rest on it."""
    try:
        test()
    except AssertionError:
        return False
    return True
