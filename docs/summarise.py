"""Keep of a comparison what the site shows, and draw it.

    python docs/summarise.py out/compare/comparison.json
    python docs/summarise.py

The second draws again what was kept: `docs/figures/outcomes.svg` and `earned.svg`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from sojourn.answers.comparison.section import earned_sheet, outcomes_sheet
from sojourn.report.charts import Sheet
from sojourn.report.figures import write

HERE = Path(__file__).resolve().parent
TARGET = HERE / "data" / "comparison.json"
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


def sheets() -> dict[str, Sheet]:
    """Return the figures of what was kept, by the names of their files."""
    kept: Any = json.loads(
        TARGET.read_text(encoding="utf-8"), object_hook=lambda names: SimpleNamespace(**names)
    )
    return {"outcomes": outcomes_sheet(kept.problems), "earned": earned_sheet(kept.problems)}


if __name__ == "__main__":
    for given in sys.argv[1:]:
        whole = json.loads(Path(given).read_text(encoding="utf-8"))
        TARGET.write_text(json.dumps(summarised(whole), indent=1) + "\n", encoding="utf-8")
    for name, sheet in sheets().items():
        write(sheet, HERE / "figures" / name, ["svg"])
