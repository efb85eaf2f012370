"""Calls of public names with wrong arguments get one sentence, or an error of the call itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from counting import Counted
from fuzz.calls import name_of
from fuzz.campaign import FINE, Child, campaign

LONG = 20_000
# What compiles, plays or learns, which takes long the first time; `make evidence` calls it, too.
SLOW = (
    "Learner", "ObservingAgent", "check_", "deep_q", "envs.", "load_curves", "load_results", "plot.", "ppo", "run", "tensorboard",
    "WorldEnv", "write_report",
)  # fmt: skip


def is_slow(name: str) -> bool:
    """Whether a name, at the top or in a module, is one of the slow ones."""
    return name.startswith(SLOW) or name.partition(".")[2].startswith(SLOW)


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    """The process in which calls are made."""
    child = Child()
    yield child
    child.stop()


def test_wrong_arguments_get_a_sentence(child: Child, tmp_path: Path) -> None:
    """One call of each public name that is quickly made, with something wrong in it: errors from inside are rarer than 1 in 100."""
    numbers = [number for number in range(310, 700) if not is_slow(name_of(number))]
    found = {number: child.tried("calls", tmp_path / str(number)) for number in numbers}
    counts = Counter(one["outcome"] for one in found.values())
    assert len(numbers) > 250
    assert counts["refused"] > 0.5 * len(numbers)
    wrong = [(number, name_of(number), one) for number, one in found.items() if one["outcome"] not in FINE]
    assert [one for one in wrong if one[2]["outcome"] != "raw"] == []
    assert len(wrong) < 0.01 * len(numbers), "\n".join(f"{a} {b} {c}" for a, b, c in wrong)


@pytest.mark.evidence
def test_twenty_thousand_calls_with_wrong_arguments(counted: Counted) -> None:
    """No hang, no death, no 500 MB; and errors from inside, which are no sentence of ours, in fewer than one of 100."""
    counts, failures = campaign("calls", LONG)
    assert [failure[:4] for failure in failures if failure.outcome != "raw"] == []
    assert counts["raw"] < 0.01 * LONG, [failure[:4] for failure in failures][:50]
    counted(
        "calls with wrong arguments",
        tried=counts.total(),
        failed=counts.total() - counts["accepted"] - counts["refused"] - counts["raw"],
    )
