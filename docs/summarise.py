"""Keep of a comparison what the site shows: `python docs/summarise.py out/compare/comparison.json`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

TARGET = Path(__file__).resolve().parent / "data" / "comparison.json"
AGENT = ("agent", "name", "options", "edges", "optimal_share", "optimal_low", "optimal_high",
         "relative_gain", "relative_low", "relative_high", "followed", "followed_low", "followed_high", "earned",
         "earned_low", "earned_high", "earning", "steps_99", "rate")  # fmt: skip
LIMIT = ("estimator", "agents", "rate", "error", "keeps_optimum")


def summarised(comparison: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a comparison that tables are made of: no curves, no figures."""
    return {
        "version": comparison["version"],
        "settings": comparison["settings"],
        "problems": [
            {
                "name": found["name"],
                "gain": found["gain"],
                "states": found["states"],
                "low": found["audit"]["low"],
                "high": found["audit"]["high"],
                "agents": [{key: row[key] for key in AGENT} for row in found["agents"]],
                "estimators": [{key: row[key] for key in LIMIT} for row in found["audit"]["estimators"]],
            }
            for found in comparison["problems"]
        ],
    }


if __name__ == "__main__":
    whole = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(json.dumps(summarised(whole), indent=1) + "\n", encoding="utf-8")
