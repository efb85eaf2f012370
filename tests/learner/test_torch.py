"""The documentation's agent in PyTorch, if PyTorch is installed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj

PAGE = Path(__file__).resolve().parents[2] / "docs" / "networks.md"


def test_the_pages_agent_in_pytorch_learns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After 6,000 steps it earns more than taking every job, which earns 0.60 per unit time."""
    pytest.importorskip("torch")
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {"sj": sj}
    for part in ("class Offers", "class Linear", "class Torch"):
        source = next(block for block in blocks if part in block).partition("\n\n\nlearner")[0]
        exec(source, names)  # noqa: S102 - the page's own
    learner = sj.Learner(names["Offers"](), names["Torch"], seed=0)
    learner.train(6000)
    assert learner.evaluate(duration=3000.0).rate > 0.65
