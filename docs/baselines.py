"""What the page about networks shows of what `bench/baselines.py` measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from sojourn.rules.intervals import mean_interval

SOURCE = Path(__file__).resolve().parent / "data" / "baselines.json"


def read() -> dict[str, Any]:
    """Return what was measured last."""
    return json.loads(SOURCE.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def table() -> str:
    """Return the gains relative to the exact one: their mean, the interval, and the processor time of a run."""
    found = read()
    lines = [
        "| | learns from | gain, relative to the best | runs | seconds a run |",
        "|---|---|---:|---:|---:|",
    ]
    for row in found["rows"]:
        gains = [run["gain"] / found["exact"] for run in row["runs"]]
        low, high = mean_interval(gains)
        seconds = np.mean([run["seconds"] for run in row["runs"]])
        lines.append(
            f"| {row['algorithm']} | {row['reward']} | {np.mean(gains):.3f} ({low:.3f} to {high:.3f}) | {len(gains)} | "
            f"{seconds:.0f} |"
        )
    return "\n".join(lines)
