"""The report's section on the paper's claims: what each says, where it stands, whether it holds, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sojourn.report.blocks import Column, Heading, Points, Section, Table
from sojourn.report.charts import Axis, Whisker, Whiskers
from sojourn.report.looks import plain
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
        f"Of {len(claims)} claims, {found['holds']} hold as they stand and {found['does not hold']} do not hold, "
        f"because of {errors(claims)} different errors.",
        _picture(found),
        [
            Heading("What the verdicts mean"),
            Points([f"*{verdict}* ({found[verdict]}): {meaning}." for verdict, meaning in VERDICTS.items()]),
            Heading("What the authors say now"),
            Points(AUTHORS_NOW),
            Heading("The ledger"),
            Table("The ledger of claims", columns, rows, searched=True),
        ],
    )


def _picture(found: Mapping[str, int]) -> Whiskers:
    rows = [Whisker(verdict, plain(place), count) for place, (verdict, count) in enumerate(found.items())]
    return Whiskers("Claims of the paper, by verdict", Axis("claims", whole=True, ends=(0.0, None)), rows)
