"""The part of the page about the paper's claims: what is said, where, whether it holds, and why we think so."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.report.blocks import Column, Points, Section, Table
from sojourn.report.words import counted
from sojourn.studies.claims.ledger import VERDICTS, Claim, counts, errors
from sojourn.studies.claims.words import AUTHORS_NOW


def claims_section(claims: Sequence[Claim]) -> Section:
    """Return the ledger as a table that can be sorted and searched."""
    found = counts(claims)
    columns = [
        Column(name, numeric=False) for name in ("id", "verdict", "claim", "reason", "where", "evidence")
    ]
    rows = [
        (one.id, one.verdict, one.claim, one.reason, one.where, "; ".join(one.evidence)) for one in claims
    ]
    return Section(
        "claims",
        "The paper's claims, one by one",
        f"{counted(len(claims), 'claim')}, each with a verdict, the reason, and the tests and "
        f"commands that show it. Those that do not hold come from {errors(claims)} different errors.",
        [
            Points([f"*{verdict}* ({found[verdict]}): {meaning}." for verdict, meaning in VERDICTS.items()]),
            Points(AUTHORS_NOW),
            Table("The ledger of claims", columns, rows, searched=True),
        ],
    )
