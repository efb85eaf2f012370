"""A ledger of claims, as a section: what is said, where, whether it holds, and why we think so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from sojourn.report.blocks import Column, Section, Table
from sojourn.report.words import counted


class Claim(Protocol):
    """What the ledger says about one claim."""

    @property
    def id(self) -> str:
        """A short name."""

    @property
    def where(self) -> str:
        """Where it is made."""

    @property
    def claim(self) -> str:
        """What is claimed."""

    @property
    def verdict(self) -> str:
        """Whether it holds."""

    @property
    def reason(self) -> str:
        """Why."""

    @property
    def evidence(self) -> str:
        """What shows it."""


def claims_section(claims: Sequence[Claim]) -> Section:
    """Return the ledger as a table that can be sorted and searched."""
    counts = Counter(claim.verdict for claim in claims)
    told = ", ".join(f"{verdict} {count}" for verdict, count in counts.most_common())
    columns = [
        Column(name, numeric=False) for name in ("id", "where", "claim", "verdict", "reason", "evidence")
    ]
    rows = [(one.id, one.where, one.claim, one.verdict, one.reason, one.evidence) for one in claims]
    return Section(
        "claims",
        "The paper's claims, one by one",
        f"{counted(len(claims), 'claim')}, each with a verdict and the reason for it: {told}.",
        [Table("The ledger of claims", columns, rows, searched=True)],
    )
