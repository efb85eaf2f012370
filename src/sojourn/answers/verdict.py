"""What a learner's policy earns and the reasons not to trust it: the record in `verdict.json` and its section."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sojourn import __version__
from sojourn.data.files import Json, write_json
from sojourn.data.hints import as_json, read_record
from sojourn.learner.verdict import Verdict
from sojourn.report.blocks import Block, Budget, Facts, Note, Prose, Section, made_by
from sojourn.report.charts import Axis, Whisker, Whiskers
from sojourn.report.looks import plain
from sojourn.report.words import number, setting

FILE = "verdict.json"


@dataclass(frozen=True)
class Judged:
    """What a learned policy earns, with an interval if it was followed long enough, and what else is known."""

    name: str
    rate: float
    low: float | None
    high: float | None
    level: float
    duration: float
    steps: int
    learned_rate: float
    gain: float | None
    best_gain: float | None
    states: int | None  # states seen in training
    tried: float | None  # share of these states' actions that were tried
    thin: float | None  # share of steps in states where some action was hardly tried
    moved: float | None
    sentence: str
    warnings: tuple[str, ...] = ()
    version: str = ""
    deviation: float | None = None
    aim: str = ""

    def write(self, folder: Path) -> None:
        """Write the record into a folder, created if necessary."""
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / FILE, as_json(self))


def judged(name: str, found: Verdict) -> Judged:
    """Return a verdict as a record; `name` identifies what was judged."""
    earned, seen = found.evaluation, found.visited
    return Judged(
        name=name,
        **{part: getattr(earned, part) for part in ("rate", "low", "high", "level", "duration", "steps")},
        **{
            part: getattr(found, part)
            for part in ("learned_rate", "gain", "best_gain", "thin", "moved", "deviation", "aim")
        },
        states=None if seen is None else seen.states,
        tried=None if seen is None else seen.share,
        sentence=found.sentence,
        warnings=found.warnings,
        version=__version__,
    )


# --- Section of the page -----------------------------------------------------------------


def section(folder: Path, given: dict[str, Json], budget: Budget) -> Section:
    """Return the section for the `verdict.json` in a folder."""
    found = read_record(Judged, given)
    blocks: list[Block] = [Note(_sentence(warning)) for warning in found.warnings]
    blocks.append(Prose(_sentence(found.sentence)))
    return Section(
        "verdict on a learner",
        f"What {found.name} has learned",
        _lead(found),
        picture(found),
        [*blocks, _facts(folder, found)],
    )


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _lead(found: Judged) -> str:
    trust = "there are reasons not to trust it" if found.warnings else "no reason was found not to trust it"
    between = "" if found.low is None else f" ({number(found.low, 6)} to {number(found.high, 6)})"
    return f"The policy earns {number(found.rate, 6)} per unit time{between}; {trust}."


def picture(found: Judged) -> Whiskers:
    """Return the chart of what the policy earns, beside the learned rate and the best possible gain."""
    rows = [
        Whisker("the policy, measured", plain(0), found.rate, found.low, found.high),
        Whisker("the learned rate", plain(1), None if found.aim else found.learned_rate),
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
            ("deviation of what the policy earns, per root of time", number(found.deviation, 6)),
            ("earned more than the policy halfway through training", number(found.moved)),
            *made_by(found.version, folder),
        ],
    )
