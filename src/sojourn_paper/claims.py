"""The paper's claims: a ledger in TOML with a verdict on each, its page in Markdown, and its section of the report.

Tests determine the verdicts. They are only recorded here; nothing is run.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from importlib import resources
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from sojourn.data.files import Json
from sojourn.report.blocks import Budget, DataTable, Heading, Points, Section, texts
from sojourn.report.charts import Axis, Whisker, Whiskers
from sojourn.report.looks import plain

VERDICTS = {
    "holds": "right as it stands",
    "holds with a condition": "right under a condition that the paper does not state; the reason names it",
    "slip of notation": "right as it is meant, but the printed form lacks a term or a sign, or swaps two weights",
    "not reproduced": "not found again on other data; the paper's own data were not at hand",
    "does not hold": "there is a counterexample or a measurement against it",
    "not testable here": "it is about something that cannot be run or read here",
}
UNTESTABLE = "not testable here"

_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_TEST = re.compile(r"tests/\w+/\w+\.py::test_\w+")
_COMMAND = re.compile(r"sojourn [a-z].*")


class Claim(NamedTuple):
    """A statement of the paper, in our words, with its verdict.

    >>> claim = {claim.id: claim for claim in load_claims()}["internality"]
    >>> claim.verdict, claim.where
    ('holds', '3.2 The modified harmonic mean: Theorem 3, internality')
    >>> claim.section
    '3.2 The modified harmonic mean'
    """

    id: str
    where: str  # section of the paper and, after a colon, the place in it
    claim: str
    verdict: str  # one of VERDICTS
    reason: str
    evidence: tuple[str, ...]  # tests by their pytest names, the deciding one first; then commands
    repeats: str = ""  # the claim whose error this one repeats, if any

    @property
    def section(self) -> str:
        """The section of the paper."""
        return self.where.partition(": ")[0]

    @property
    def tests(self) -> tuple[str, ...]:
        """The tests among the evidence."""
        return tuple(entry for entry in self.evidence if _TEST.fullmatch(entry))

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands among the evidence."""
        return tuple(entry for entry in self.evidence if _COMMAND.fullmatch(entry))


def load_claims() -> list[Claim]:
    """Return the ledger, in the order of the paper.

    >>> claims = load_claims()
    >>> {claim.verdict for claim in claims} == set(VERDICTS)
    True
    """
    text = resources.files(__package__).joinpath("claims.toml").read_text(encoding="utf-8")
    return parse_claims(tomllib.loads(text))


def parse_claims(data: dict[str, Any]) -> list[Claim]:
    """Return the claims of a ledger parsed from TOML; raise an error if anything in it is invalid.

    >>> parse_claims({"claim": [{"id": "one", "verdict": "perhaps"}]})
    Traceback (most recent call last):
    ValueError: claim 'one' must have id, where, claim, verdict, reason, evidence, may have repeats, and nothing else
    """
    if set(data) != {"claim"} or not isinstance(data["claim"], list) or not data["claim"]:
        raise ValueError("a ledger must be a list of [[claim]] tables and nothing else")
    claims: list[Claim] = []
    for number, table in enumerate(data["claim"], start=1):
        claim = _claim(number, table)
        if claim.id in {other.id for other in claims}:
            raise ValueError(f"there are two claims {claim.id!r}; each claim needs its own id")
        claims.append(claim)
    for claim in claims:
        if claim.repeats and [claim.verdict] != [one.verdict for one in claims if one.id == claim.repeats]:
            raise ValueError(
                f"claim {claim.id!r} repeats {claim.repeats!r}, which is not a claim with the same verdict"
            )
    sections = [section for section, _ in groupby(claims, key=lambda claim: claim.section)]
    for section in sections:
        if sections.count(section) > 1:
            raise ValueError(f"the claims of section {section!r} are scattered; put them together")
    return claims


def _claim(number: int, table: dict[str, Any]) -> Claim:
    name = f"claim {table['id']!r}" if "id" in table else f"claim number {number}"
    needed = [field for field in Claim._fields if field not in Claim._field_defaults]
    if set(table) - {"repeats"} != set(needed):
        raise ValueError(f"{name} must have {', '.join(needed)}, may have repeats, and nothing else")
    for key in table.keys() - {"evidence"}:
        if not isinstance(table[key], str) or not table[key].strip():
            raise TypeError(f"{name}: {key} is {table[key]!r}; it must be text")
    evidence = table["evidence"]
    if not isinstance(evidence, list) or not all(isinstance(entry, str) for entry in evidence):
        raise TypeError(f"{name}: evidence is {evidence!r}; it must be a list of strings")
    words = {key: " ".join(table[key].split()) for key in table if key != "evidence"}
    claim = Claim(**words, evidence=tuple(evidence))
    if not _SLUG.fullmatch(claim.id):
        raise ValueError(f"{name}: the id must be lower-case words with dashes between them")
    if claim.verdict not in VERDICTS:
        raise ValueError(f"{name}: verdict is {claim.verdict!r}; it must be one of {', '.join(VERDICTS)}")
    for entry in evidence:
        if entry not in claim.tests + claim.commands:
            raise ValueError(f"{name}: evidence {entry!r} is neither a test nor a command of sojourn")
    if (claim.verdict == UNTESTABLE) == bool(claim.tests):
        raise ValueError(f"{name}: a verdict needs a test, and {UNTESTABLE!r} must have none")
    return claim


def counts(claims: Iterable[Claim]) -> dict[str, int]:
    """Return how many claims have each verdict.

    >>> list(counts([])) == list(VERDICTS)
    True
    """
    found = [claim.verdict for claim in claims]
    return {verdict: found.count(verdict) for verdict in VERDICTS}


def errors(claims: Iterable[Claim]) -> int:
    """Return the number of distinct errors; a claim that only repeats another's error is not counted.

    >>> claims = load_claims()
    >>> errors(claims) < counts(claims)["does not hold"]
    True
    """
    return sum(claim.verdict == "does not hold" and not claim.repeats for claim in claims)


def choose(claims: Iterable[Claim], name: str | None = None, verdict: str | None = None) -> list[Claim]:
    """Return the claim with this id, the claims with this verdict, or all claims.

    >>> [claim.id for claim in choose(load_claims(), "internality")]
    ['internality']
    >>> choose(load_claims(), "internalty")
    Traceback (most recent call last):
    ValueError: unknown claim 'internalty'; did you mean 'internality'?
    """
    known = {claim.id: claim for claim in claims}
    if verdict is not None and verdict not in VERDICTS:
        raise ValueError(f"--verdict is {verdict!r}; it must be one of {', '.join(VERDICTS)}")
    if name is not None and name not in known:
        close = get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"did you mean {close[0]!r}?" if close else "sojourn claims lists them all"
        raise ValueError(f"unknown claim {name!r}; {hint}")
    return [
        claim
        for claim in known.values()
        if (name is None or claim.id == name) and (verdict is None or claim.verdict == verdict)
    ]


# --- The page of the documentation -------------------------------------------------------

_INTRODUCTION = """\
# The paper's claims

This page lists every statement of *A Harmonic Mean Formulation of Average Reward Reinforcement Learning in
SMDPs* (Shtossel, Vidler, Shaham and Kaminka, 2026) that can be checked. Each is given in our words, with a
verdict, the reason for it, and the test or command that shows it. The test works out the verdict from what
it measures, and fails if the ledger has another one. `sojourn claims` prints this ledger, and
`sojourn claims --json` prints it as JSON.

The harmonic mean is right and useful in two cases. Over pieces of equal reward (equal distances, equal lots)
it is the true rate. If jobs of random size are done at an independent random pace, it is a better estimate
than the ratio of means, with a smaller variance. For any data, `sojourn.rates.coupling` says how far it is from
the true rate. The modified harmonic mean extends it to zeros and both signs and stays within its data. In
general, however, neither mean is the reward per unit time of a process whose rewards vary.

Recorded Bitcoin minutes are not part of the project, and tests that need them are skipped if they are
absent. `tests/paper/measured_bitcoin.toml` keeps what the market study found on them at full size.

This page is made from `src/sojourn_paper/claims.toml` by `sojourn claims --markdown > docs/claims.md`.
"""


AUTHORS_NOW = (
    "Their library (github.com/erelon/SMDP_Agents) has been developed further since the paper, and its comments agree "
    'with this ledger on the main point: to use a harmonic rate in r - rho tau is "a type error, not a better gain estimate" '
    "(`examples/envs/configs.py` at commit 1d662de, on `harmonic_criterion`), since values stay bounded only if the "
    "rate is the gain of the policy that is followed.",
    'About the simulation study they say that the unpaid way back "handed the harmonic estimators a large rho deflation" '
    "that is not part of the task (`examples/source_settings.py` at commit cac7c27); their own version now pays 1 for it.",
    "Their reward-weighted harmonic mean is the ratio of sums wherever all rewards are positive, as they note; Sojourn "
    "has it as `weighted_harmonic_r`.",
    "The type error can be corrected without giving up the estimator: with `centring=1.0` and falling step sizes the level of "
    "the values corrects the rate, and Harmonic R-Learning finds the optimal policy in 40 of 40 runs on each of gosavi, "
    "long-shot, long-return, early-pay and rare-delay. A proof needs conditions, and centring does not explore.",
)


def claims_page(claims: list[Claim]) -> str:
    """Return the ledger as a page in Markdown, by section of the paper, with a count on top.

    >>> from sojourn_paper.claims import load_claims
    >>> page = claims_page(load_claims())
    >>> page.splitlines()[0]
    "# The paper's claims"
    """
    count = counts(claims)
    lines = [_INTRODUCTION, "| verdict | claims | meaning |", "|---|---:|---|"]
    lines += [f"| *{verdict}* | {count[verdict]} | {meaning} |" for verdict, meaning in VERDICTS.items()]
    lines += [f"| all | {len(claims)} | |", ""]
    lines += [
        f"The {count['does not hold']} claims that do not hold come from {errors(claims)} different errors: an error that "
        "the paper repeats elsewhere is listed there too, but counted once.",
        "",
        "## What the authors say now",
        "",
        *(f"- {remark}" for remark in AUTHORS_NOW),
        "",
    ]
    for section, members in groupby(claims, key=lambda claim: claim.section):
        lines += [f"## {section}", ""]
        for claim in members:
            lines += _entry(claim)
    return "\n".join(lines).rstrip() + "\n"


def _entry(claim: Claim) -> list[str]:
    place = _capital(claim.where.partition(": ")[2])
    shown = ", ".join(f"`{entry}`" for entry in claim.evidence)
    return [
        f"### {claim.id}",
        "",
        f"*{place}.* {claim.claim}" if place else claim.claim,
        "",
        f"**{_capital(claim.verdict)}.** {claim.reason}"
        + (f" This repeats the error of {claim.repeats}." if claim.repeats else ""),
        "",
        f"Shown by {shown}." if shown else "No test or command can show it.",
        "",
    ]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# --- The section of the report -----------------------------------------------------------


def section(_folder: Path, _given: dict[str, Json], _budget: Budget) -> Section:
    """Return the section on the ledger, which comes with the package and needs no folder."""
    return claims_section(load_claims())


def claims_section(claims: Sequence[Claim]) -> Section:
    """Return claims as a table that can be sorted and searched."""
    found = counts(claims)
    columns = texts("id", "verdict", "claim", "reason", "where", "evidence")
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
            DataTable("The ledger of claims", columns, rows, searched=True),
        ],
    )


def _picture(found: Mapping[str, int]) -> Whiskers:
    rows = [Whisker(verdict, plain(place), count) for place, (verdict, count) in enumerate(found.items())]
    return Whiskers("Claims of the paper, by verdict", Axis("claims", whole=True, ends=(0.0, None)), rows)
