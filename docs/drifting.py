"""The parts of `sojourn reproduce drift` that pages show; `python docs/drifting.py out/drift/summary.json` stores them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rendering import public_name

DATA = Path(__file__).resolve().parent / "data" / "drift.json"
KEPT = ("version", "steps", "size", "tracking", "control", "bet", "named", "settings", "findings")
TAILS = (
    "pareto-reward", "pareto-duration", "pareto+switch", "outlier-reward", "outlier-duration", "missing-duration",
)  # fmt: skip
SHOWN = ("AdaptiveRatio", "Exponential", "ClippedExponential")  # on streams that have names
FINDINGS = ("tracking", "scores", "harmonic", "control", "one setting", "bet", "family", "trend")
NOT_QUOTED = ("tracking", "bet")  # findings that a page shows in another form
BEST = {
    "longest": "the longest action is always the best",
    "mixed": "the best action changes",
    "shortest": "the shortest action is always the best",
}


def places() -> dict[str, Callable[[], str]]:
    """Return the places in pages, each with the function that makes its content."""
    return {
        "<!-- drift: estimators -->": estimators_table,
        "<!-- drift: tails -->": tails_table,
        "<!-- drift: agents -->": agents_table,
        "<!-- drift: worlds -->": worlds_table,
        "<!-- drift: bet -->": bet_table,
        "<!-- drift: adaptive -->": adaptive,
        "<!-- drift: size -->": size,
        "<!-- drift: relaxed setting -->": relaxed_setting,
        **{
            f"<!-- drift: on {name} -->": _finding(place)
            for place, name in enumerate(FINDINGS)
            if name not in NOT_QUOTED
        },
    }


def summarised(summary: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a summary that pages show, or that a test compares with what they say."""
    kept = {name: summary[name] for name in KEPT}
    kept["streams"] = [row for row in summary["streams"] if row["estimator"] in SHOWN]
    kept["foretold"] = summary["foretold"]
    return kept


def read() -> dict[str, Any]:
    """Return what was kept."""
    return json.loads(DATA.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def _finding(place: int) -> Callable[[], str]:
    return lambda: str(read()["findings"][place])


def adaptive() -> str:
    """Return how closely `AdaptiveRatio` follows the random streams."""
    row = next(
        row for row in read()["tracking"] if (row["estimator"], row["group"]) == ("AdaptiveRatio", "random")
    )
    return f"{row['mean']:.2f} in the geometric mean, at most {row['high']:.2f} in nine of ten, and {row['worst']:.2f} at the worst"


def size() -> str:
    """Return how much was run."""
    given = read()["size"]
    return (
        f"{given['streams']} random streams of {given['steps']:,} steps, {given['worlds']} random worlds and their mirrors until a "
        f"time of {given['time']:,.0f}, settings chosen on 3 seeds and results measured on {given['seeds']} others"
    )


def relaxed_setting() -> str:
    """Return the one setting of Relaxed-SMART that did best over all random worlds."""
    given = read()["settings"]["relaxed_smart"]
    return f"`relaxed_smart({', '.join(f'{name}={number:g}' for name, number in given.items())})`"


def estimators_table() -> str:
    """Return the tracking errors over random streams: untuned, and chosen by score."""
    rows = [row for row in read()["tracking"] if row["group"] == "random"]
    found = {(row["estimator"], row["how"]): row for row in rows}
    untuned = sorted(
        (row for row in rows if row["how"] == "one setting"), key=lambda row: _order(row["mean"])
    )
    lines = [
        "| | one setting for all: mean | 90 % | worst | chosen by score: mean | 90 % | worst |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in untuned:
        by_score = found.get((row["estimator"], "by score"))
        cells = [_times(row[name]) for name in ("mean", "high", "worst")]
        cells += [_times(by_score[name]) if by_score else "" for name in ("mean", "high", "worst")]
        lines.append(
            f"| [`{row['estimator']}`](reference/rates.md#{public_name('rates', row['estimator'])}) | {' | '.join(cells)} |"
        )
    return "\n".join(lines)


def tails_table() -> str:
    """Return the errors on streams with heavy tails and wrong records."""
    found = {(row["stream"], row["estimator"], row["how"]): row["relative"] for row in read()["streams"]}
    lines = [
        "| | `AdaptiveRatio` | `Exponential`, chosen by score | `ClippedExponential`, chosen by score |",
        "|---|---:|---:|---:|",
    ]
    for stream in TAILS:
        cells = [
            _times(found[stream, estimator, how])
            for estimator, how in (
                ("AdaptiveRatio", "one setting"),
                ("Exponential", "by score"),
                ("ClippedExponential", "by score"),
            )
        ]
        lines.append(f"| {stream} | {' | '.join(cells)} |")
    return "\n".join(lines)


def agents_table() -> str:
    """Return what agents earned in random worlds, by whether the best action changes, tuned and with one setting."""
    rows = {(row["agent"], row["kind"], row["how"], row["side"]): row for row in read()["control"]}
    names = {row["agent"]: row["name"] for row in read()["control"]}
    order = sorted(names, key=lambda agent: -_both(rows, agent, "all", "tuned"))
    lines = [
        "| | tuned to each: worlds | mirrors | one setting for all: worlds | mirrors | where the best action changes, tuned |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for agent in order:
        cells = [
            _interval(rows[agent, "all", how, side])
            for how in ("tuned", "one setting")
            for side in ("world", "mirror")
        ]
        lines.append(f"| {names[agent]} | {' | '.join(cells)} | {_both(rows, agent, 'mixed', 'tuned'):.3f} |")
    return "\n".join(lines)


def worlds_table() -> str:
    """Return what agents earned in worlds that have names, tuned."""
    rows = {(row["world"], row["agent"]): row["share"] for row in read()["named"] if row["how"] == "tuned"}
    names = {row["agent"]: row["name"] for row in read()["named"]}
    worlds = sorted(
        dict.fromkeys(world for world, _ in rows), key=lambda world: -sum(key[0] == world for key in rows)
    )
    head = " | ".join(
        f"[{world.replace('_', ' ')}](reference/worlds.md#sojourn.worlds.changes.{world})" for world in worlds
    )
    lines = [f"| | {head} |", f"|---|{'---:|' * len(worlds)}"]
    for agent, name in names.items():
        cells = [f"{rows[world, agent]:.3f}" if (world, agent) in rows else "" for world in worlds]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def bet_table() -> str:
    """Return by how much Harmonic R-Learning is ahead of Relaxed-SMART, in each kind of world and in the mirrors."""
    rows = {(row["kind"], row["side"]): row for row in read()["bet"]}
    lines = [
        "| where | worlds | ahead in the worlds | ahead in the mirrors | first in worlds | first in mirrors |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for kind, name in BEST.items():
        sides = [rows[kind, side] for side in ("world", "mirror")]
        cells = [f"{row['ahead']:+.3f} ({row['low']:+.3f} to {row['high']:+.3f})" for row in sides]
        cells += [str(row["first"]) for row in sides]
        lines.append(f"| {name} | {sides[0]['worlds']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _both(rows: dict[Any, Any], agent: str, kind: str, how: str) -> float:
    """Return the mean share over worlds and mirrors."""
    return float(sum(rows[agent, kind, how, side]["share"] for side in ("world", "mirror")) / 2.0)


def _interval(row: dict[str, Any]) -> str:
    return f"{row['share']:.3f} ± {(row['high'] - row['low']) / 2.0:.3f}"


def _order(number: float | None) -> float:
    return float("inf") if number is None else number


def _times(number: float | None) -> str:
    if number is None or number >= 1e6:
        return "over 10⁶"
    return f"{number:.2f}" if number < 100.0 else f"{number:,.0f}"


if __name__ == "__main__":
    whole = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    DATA.write_text(json.dumps(summarised(whole), indent=1) + "\n", encoding="utf-8")
