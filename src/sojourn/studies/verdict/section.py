"""The part of the page about a learner: what its policy earns, and what speaks against trusting it."""

from __future__ import annotations

from pathlib import Path

from sojourn.report.blocks import Block, Facts, Note, Prose, Section
from sojourn.report.budget import Budget
from sojourn.report.charts import Axis, Whisker, Whiskers
from sojourn.report.looks import plain
from sojourn.report.words import number, setting
from sojourn.rules.records import Json, read_record
from sojourn.studies.verdict.answer import Judged


def section(folder: Path, given: dict[str, Json], budget: Budget) -> Section:
    """Return what `verdict.json` in a folder holds."""
    found = read_record(Judged, given)
    blocks: list[Block] = [Note(_sentence(warning)) for warning in found.warnings]
    blocks.append(Prose(_sentence(found.sentence)))
    return Section(
        "verdict on a learner",
        f"What {found.name} has learned",
        _lead(found),
        _picture(found),
        [*blocks, _facts(folder, found)],
    )


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _lead(found: Judged) -> str:
    trust = "there are reasons not to trust it" if found.warnings else "no reason was found not to trust it"
    between = "" if found.low is None else f" ({number(found.low, 6)} to {number(found.high, 6)})"
    return f"The policy earns {number(found.rate, 6)} per unit time{between}; {trust}."


def _picture(found: Judged) -> Whiskers:
    """Return what the policy earns, beside the learned rate and the best possible gain."""
    rows = [
        Whisker("the policy, measured", plain(0), found.rate, found.low, found.high),
        Whisker("the learned rate", plain(1), found.learned_rate),
        Whisker("the policy, exact", plain(2), found.gain),
        Whisker("the best policy, exact", plain(3), found.best_gain),
    ]
    return Whiskers(
        f"What the policy earns: {found.name}",
        Axis("reward per unit time"),
        [row for row in rows if row.value is not None],
        interval=f"{100.0 * found.level:g} % interval",
    )


def _facts(folder: Path, found: Judged) -> Facts:
    shares = (
        ("actions tried in these states", found.tried),
        ("steps in states where some action was hardly tried", found.thin),
    )
    return Facts(
        "What was examined",
        [
            ("learner", found.name),
            ("time for which the policy was followed", number(found.duration, 6)),
            ("steps", number(found.steps)),
            ("states seen in training", setting(found.states)),
            *((name, "unknown" if share is None else f"{share:.0%}") for name, share in shares),
            ("earned more than the policy halfway through training", number(found.moved)),
            ("made by", f"Sojourn {found.version}"),
            ("folder", folder.name),
        ],
    )
