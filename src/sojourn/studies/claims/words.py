"""The claims ledger as a page in Markdown, for the documentation."""

from __future__ import annotations

from itertools import groupby

from sojourn.studies.claims.ledger import VERDICTS, Claim, counts, errors

_INTRODUCTION = """\
# The paper's claims

Every statement of *A Harmonic Mean Formulation of Average Reward Reinforcement Learning in SMDPs*
(Shtossel, Vidler, Shaham and Kaminka, 2026) that can be checked, in our words, with a verdict, the reason
for it and the test or command that shows it. Each verdict is worked out by its test from what it measures;
if the two ever differ, the test fails. `sojourn claims` prints this ledger; `sojourn claims --json` has it
for machines.

Where the harmonic mean is right and useful: it is the true rate over pieces of equal reward (equal
distances, equal lots), and where jobs of random size are done at an independent random pace it is the
better estimate of the two, with the smaller variance. `sojourn.coupling` says of any data how far it is
from the true rate. The modified harmonic mean extends it to zeros and both signs and stays within its data.
What it is not, in general, is the reward per unit time of a process whose rewards vary.

Tests on recorded Bitcoin minutes, which are not part of the project, are skipped where these are absent;
what the market study found on them at full size is kept in `tests/studies/measured_bitcoin.toml`.

This page is made from `src/sojourn/studies/claims/claims.toml` by `sojourn claims --markdown > docs/claims.md`.
"""


AUTHORS_NOW = (
    "Their library (github.com/erelon/SMDP_Agents) has gone on since the paper, and its remarks agree with this ledger "
    'on the main point: to use a harmonic rate in r - rho tau is "a type error, not a better gain estimate" '
    "(`examples/envs/configs.py` at commit 1d662de, on `harmonic_criterion`), since values stay bounded only where the "
    "rate is the gain of the policy that is followed.",
    'Of the simulation study they say that the unpaid way back "handed the harmonic estimators a large rho deflation" '
    "that is no part of the task (`examples/source_settings.py` at commit cac7c27); their own version now pays 1 for it.",
    "Their reward-weighted harmonic mean is the ratio of sums wherever all rewards are positive, as they note; Sojourn "
    "has it as `weighted_harmonic_r`.",
    "The type error can be mended without giving up the estimator: with `centring=0.1` the level of the values corrects "
    "the rate, and Harmonic R-Learning finds the optimal policy in 40 of 40 runs on gosavi, long-shot and long-return.",
)


def claims_page(claims: list[Claim]) -> str:
    """Return the ledger as a page in Markdown, by section of the paper, with a count on top.

    >>> from sojourn.studies.claims.ledger import load_claims
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
        "the paper makes again elsewhere is listed there too, and counted once.",
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
    shown = ", ".join(f"`{entry}`" for entry in claim.evidence) or "nothing that runs"
    return [
        f"### {claim.id}",
        "",
        f"*{place}.* {claim.claim}" if place else claim.claim,
        "",
        f"**{_capital(claim.verdict)}.** {claim.reason}"
        + (f" The error of {claim.repeats}, once more." if claim.repeats else ""),
        "",
        f"Shown by {shown}.",
        "",
    ]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
