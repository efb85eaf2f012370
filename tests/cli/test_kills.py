"""Commands that are killed at any moment and run again end with the same results as undisturbed ones."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from counting import Counted
from killing import SWEEP, Killer, killed_often, stormed
from sojourn.data.files import is_leftover

# A quarter of the number in evidence.
KILLS = {"sweep": 100, "train": 70, "report": 60, "compare": 20, "reproduce": 10}

# Rewritten by every run, and never the same.
_OF_THE_RUN = {".lock", "sweep.log", "timings.parquet"}


@pytest.fixture(scope="module")
def killer(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Killer]:
    killer = Killer(tmp_path_factory.mktemp("killer"), studies=bool(request.config.getoption("--evidence")))
    yield killer
    killer.close()


def holds(folder: Path) -> dict[str, Any]:
    """Return a folder's contents, without timings."""
    held: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_dir() or path.name in _OF_THE_RUN:
            continue
        if path.suffix == ".parquet":
            table = pl.read_parquet(path).rechunk().write_ipc(None, compression="uncompressed")
            held[name] = hashlib.sha256(table.getvalue()).hexdigest()
        elif path.suffix == ".json":
            held[name] = untimed(json.loads(path.read_text()))
        elif path.name == "README.md":
            held[name] = len(path.read_text()) > 0  # it contains the duration of the study
        elif not is_leftover(path):
            held[name] = path.read_bytes()
    return held


def untimed(data: Any) -> Any:
    """Return JSON without the seconds in it."""
    if isinstance(data, dict):
        return {key: untimed(value) for key, value in data.items() if key not in ("seconds", "minutes")}
    return [untimed(value) for value in data] if isinstance(data, list) else data


def toml(folder: Path) -> Path:
    lines = [f"{name} = {json.dumps(SWEEP[name])}" for name in ("seeds", "steps", "record")]
    for kind in ("world", "agent"):
        for entry in SWEEP[kind]:
            lines += [f"[[{kind}]]", *(f"{name} = {json.dumps(given)}" for name, given in entry.items())]
    path = folder / "sweep.toml"
    path.write_text("\n".join(lines))
    return path


def commands(name: str, scratch: Path, killer: Killer) -> Callable[[Path], list[str]]:
    """Return the functions that make the commands for a folder."""
    if name == "sweep":
        file = toml(scratch)
        return lambda place: ["sweep", str(file), "--out", str(place), "--jobs", "2"]
    if name == "compare":
        few = ["--steps", "100", "--seeds", "2", "--tuning-seeds", "1", "--jobs", "2"]
        agents = ["--agent", "smart", "--agent", "harmonic-r"]
        return lambda place: ["compare", "gosavi", *agents, *few, "--out", str(place)]
    if name == "reproduce":
        few = ["--seeds", "1", "--steps", "20", "--episodes", "1", "--jobs", "2"]
        return lambda place: ["reproduce", "robustness", *few, "--out", str(place)]
    if name == "report":
        assert killer.run(["solve", "gosavi", "--out", str(scratch / "solved")]).code == 0

        def report(place: Path) -> list[str]:
            place.mkdir(exist_ok=True)
            return ["report", str(scratch / "solved"), "--claims", "--out", str(place / "report.html")]

        return report

    base = scratch / "base.sojourn"
    new = ["-e", "log_scale=1e-3", "--max-episode-steps", "500", "--seed", "3", "--agent", "smart"]
    assert killer.run(["train", "sojourn/TwoState-v0", "--steps", "1000", "--out", str(base), *new]).code == 0

    def train(place: Path) -> list[str]:
        place.mkdir(exist_ok=True)
        out = place / "learner.sojourn"
        if not out.exists():
            out.write_bytes(base.read_bytes())
        if out.read_bytes() != base.read_bytes():
            return ["envs"]  # it was saved, and nothing is left to do
        return ["train", "sojourn/TwoState-v0", "--steps", "2000", "--out", str(out), "--resume", *new[:4]]

    return train


@pytest.mark.parametrize(
    ("name", "kills"),
    [
        ("sweep", 3),
        ("train", 3),
        ("report", 3),
        *(
            pytest.param(name, kills + part, marks=pytest.mark.evidence)  # each with its own moments
            for name, kills in KILLS.items()
            for part in range(4)  # so that several processes have work
        ),
    ],
)
def test_killed_and_run_again(
    name: str, kills: int, killer: Killer, counted: Counted, tmp_path: Path
) -> None:
    """Killed before any file operation, or at a random moment, a command resumes and gives identical files."""
    command = commands(name, tmp_path, killer)
    whole: list[dict[str, Any]] = []

    def same(place: Path) -> bool:
        if not whole:
            whole.append(holds(tmp_path / "whole"))
        return holds(place) == whole[0]

    tried, failed = killed_often(killer, command, same, tmp_path, kills)
    counted(f"kills of {name}", tried=tried, failed=failed)


@pytest.mark.parametrize(
    ("name", "storms"),
    [
        ("sweep", 1),
        *(
            pytest.param(name, storms, marks=pytest.mark.evidence)
            for name, storms in {
                "sweep": 60,
                "train": 60,
                "report": 40,
                "compare": 20,
                "reproduce": 20,
            }.items()
        ),
    ],
)
def test_a_burst_of_ctrl_c(name: str, storms: int, killer: Killer, counted: Counted, tmp_path: Path) -> None:
    """27 signals within 27 ms count as one interruption: one line, exit code 130, no traceback, and intact files."""
    command = commands(name, tmp_path, killer)
    seconds = killer.run(command(tmp_path / "whole")).seconds
    moments, wrong = random.Random(storms), []
    for attempt in range(storms):
        place = tmp_path / str(attempt)
        wrong.append(stormed(killer, command(place), after=moments.uniform(0.001, seconds)))
        if name == "train":
            sound = killer.run(["evaluate", str(place / "learner.sojourn"), "--time", "10"]).code == 0
        else:
            sound = killer.run(command(place)).code == 0 and holds(place) == holds(tmp_path / "whole")
        wrong.append("" if sound else "what it left cannot be gone on with")
    assert not any(wrong), next(filter(None, wrong))
    counted(f"storms of Ctrl-C in {name}", tried=storms, failed=sum(map(bool, wrong)))
