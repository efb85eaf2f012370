"""A ledger of claims, as a section: what is said, where, whether it holds, and why we think so."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.report.blocks import Column, Points, Section, Table
from sojourn.report.words import counted
from sojourn.studies.claims.ledger import VERDICTS, Claim


def claims_section(claims: Sequence[Claim]) -> Section:
    """Return the ledger as a table that can be sorted and searched."""
    counts = {verdict: sum(one.verdict == verdict for one in claims) for verdict in VERDICTS}
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
        "commands that show it.",
        [
            Points([f"*{verdict}* ({counts[verdict]}): {meaning}." for verdict, meaning in VERDICTS.items()]),
            Table("The ledger of claims", columns, rows, searched=True),
        ],
    )
