"""The claims ledger as a page in Markdown, for the documentation."""

from __future__ import annotations

from itertools import groupby

from sojourn.studies.claims.ledger import VERDICTS, Claim, counts, errors

_INTRODUCTION = """\
# The paper's claims

This page lists every statement of *A Harmonic Mean Formulation of Average Reward Reinforcement Learning in
SMDPs* (Shtossel, Vidler, Shaham and Kaminka, 2026) that can be checked. Each is given in our words, with a
verdict, the reason for it, and the test or command that shows it. The test works out the verdict from what
it measures, and fails if the ledger has another one. `sojourn claims` prints this ledger, and
`sojourn claims --json` prints it as JSON.

The harmonic mean is right and useful in two cases. Over pieces of equal reward (equal distances, equal lots)
it is the true rate. If jobs of random size are done at an independent random pace, it is a better estimate
than the ratio of means, with a smaller variance. For any data, `sojourn.coupling` says how far it is from
the true rate. The modified harmonic mean extends it to zeros and both signs and stays within its data. In
general, however, neither mean is the reward per unit time of a process whose rewards vary.

Recorded Bitcoin minutes are not part of the project, and tests that need them are skipped if they are
absent. `tests/studies/measured_bitcoin.toml` keeps what the market study found on them at full size.

This page is made from `src/sojourn/studies/claims/claims.toml` by `sojourn claims --markdown > docs/claims.md`.
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
    "The type error can be repaired without giving up the estimator: with `centring=0.1` the level of the values corrects "
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
