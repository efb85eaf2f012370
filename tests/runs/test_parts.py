"""Damaged parts of a sweep are detected, reported, kept, and their runs repeated."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sojourn as sj
from counting import Counted
from sojourn.data import files
from sojourn.models.model_files import save_model
from sojourn.runs import results, store, tasks

SMALL: dict[str, Any] = {
    "seeds": 3,
    "steps": 50,
    "record": 2,
    "world": [{"kind": "two-state", "log_scale": [1e-3, 1e-2]}],
    "agent": [{"kind": "smart", "step_size": [0.01, 0.1]}],
}


class Inline(Executor):
    """Executes tasks immediately, and breaks after a given number."""

    def __init__(self, most: int = 10**9) -> None:
        self.left = most

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.left -= 1
        if self.left < 0:
            future.set_exception(ConnectionError("no more"))
        else:
            future.set_result(fn(*args, **kwargs))
        return future


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> sj.runs.Sweep:
    """A small sweep in six tasks."""
    monkeypatch.setattr(tasks, "BATCH_RUNS", 2)
    return sj.runs.parse_sweep(SMALL)


@pytest.fixture
def half(small: sj.runs.Sweep, tmp_path: Path) -> Path:
    """A folder with all parts but the last, as after a kill."""
    planned = len(list(tasks.plan(small)))
    assert sj.run_sweep(small, tmp_path / "half", Inline(planned - 1), jobs=1).lost
    return tmp_path / "half"


def tables(folder: Path) -> list[pl.DataFrame]:
    return [pl.read_parquet(folder / name) for name in (results.RESULTS, results.CURVES)]


def same(folder: Path, other: Path) -> bool:
    return all(one.equals(two) for one, two in zip(tables(folder), tables(other), strict=True))


@contextlib.contextmanager
def told(message: str) -> Iterator[None]:
    with pytest.warns(RuntimeWarning, match=message):
        yield


def flip(path: Path, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)


def the_parts(folder: Path, kind: str = "rows") -> list[Path]:
    return sorted((folder / "parts").glob(f"0*.{kind}.*.parquet"))


def empty_folder(path: Path, _: Path) -> None:
    path.unlink()
    path.mkdir()


def copied_content(path: Path, other: Path) -> None:
    shutil.copyfile(other, path)


def copied_with_its_seal(path: Path, other: Path) -> None:
    number = path.name.partition(".")[0]
    shutil.copyfile(other, path.with_name(number + other.name[8:]))
    path.unlink()


def cut(path: Path, _: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def emptied(path: Path, _: Path) -> None:
    os.truncate(path, 0)


def a_pipe(path: Path, _: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def flipped(path: Path, _: Path) -> None:
    flip(path, 4000)


@pytest.mark.parametrize(
    "damage", [empty_folder, copied_content, copied_with_its_seal, cut, emptied, a_pipe, flipped]
)
@pytest.mark.parametrize("kind", ["rows", "curves"])
def test_a_damaged_part_is_reported_kept_and_repeated(
    damage: Callable[[Path, Path], None], kind: str, small: sj.runs.Sweep, half: Path, tmp_path: Path
) -> None:
    """Whatever happens to a part between two runs, the tables are those of an undisturbed sweep."""
    sj.run_sweep(small, tmp_path / "untouched", Inline(), jobs=1)
    bad, other = the_parts(half, kind)[1:3]
    damage(bad, other)
    with told(rf"1 parts .* were damaged \(00000001\.{kind}\..*; they are kept in .*set-aside"):
        outcome = sj.run_sweep(small, half, Inline(), jobs=1)
    assert (outcome.lost, outcome.failed) == (0, 0)
    assert same(half, tmp_path / "untouched")
    assert [path.name[:8] for path in (half / "set-aside").iterdir()] == ["00000001"]
    assert not (half / "parts").exists()


def test_a_missing_part_is_made_again(small: sj.runs.Sweep, half: Path, tmp_path: Path) -> None:
    """If one or both files of a task are missing, they are made again."""
    sj.run_sweep(small, tmp_path / "untouched", Inline(), jobs=1)
    the_parts(half)[0].unlink()
    the_parts(half, "curves")[1].unlink()
    sj.run_sweep(small, half, Inline(), jobs=1)
    assert same(half, tmp_path / "untouched")


@pytest.mark.parametrize("step", [509, pytest.param(1, marks=pytest.mark.evidence)])
def test_every_flipped_bit_is_found(step: int, small: sj.runs.Sweep, half: Path, counted: Counted) -> None:
    """Flipping any single bit of a part breaks its seal; parts with broken seals are set aside, unread."""
    planned = [store.identity(task, tasks.rules_of(task)) for task in tasks.plan(small)]
    tried = missed = 0
    for kind in ("rows", "curves"):
        path = the_parts(half, kind)[0]
        sound, seal = path.read_bytes(), path.name.split(".")[2]
        assert store._is_sealed(path, planned[0], kind, seal)
        for bit in range(0, 8 * len(sound), step):
            flip(path, bit)
            tried += 1
            missed += store._is_sealed(path, planned[0], kind, seal)
            if bit % (509 * 10) == 0:
                assert store.Parts(half, curves=True).verify(planned) == ([], [path.name])
            path.write_bytes(sound)
    counted("flipped bits of parts", tried=tried, failed=missed)


def test_a_faulty_disk_ends_the_sweep(
    small: sj.runs.Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sweep does not retry for ever: after three rounds it reports what is wrong."""
    sound = files.write_bytes
    monkeypatch.setattr("sojourn.runs.store.write_bytes", lambda path, data: sound(path, data[:-1]))
    with told("were damaged"), pytest.raises(OSError, match="damages what is written to it"):
        sj.run_sweep(small, tmp_path / "out", Inline(), jobs=1)


# --- Rules --------------------------------------------------------------------------


class OtherRules(Inline):
    """An executor with one worker whose rules differ, as with another version of the package."""

    def __init__(self, answer: Callable[[tasks.Executed], Any]) -> None:
        super().__init__()
        self.answer, self.submitted = answer, 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future = super().submit(fn, *args, **kwargs)
        self.submitted += 1
        if self.submitted == 3:
            other: Future[Any] = Future()
            other.set_result(self.answer(future.result()))
            return other
        return future


@pytest.mark.parametrize(
    ("answer", "place"),
    [
        (
            lambda done: done._replace(rules="0123456789abcdef", place="tcp://10.0.0.7:4242"),
            "tcp://10.0.0.7:4242",
        ),
        (lambda done: (done.batch, done.seconds), "one of the workers"),  # as earlier versions answer
    ],
)
def test_a_worker_with_other_rules_is_refused_by_name(
    answer: Callable[[tasks.Executed], Any], place: str, small: sj.runs.Sweep, tmp_path: Path
) -> None:
    """None of its results are kept; without that worker, the sweep resumes and gives the same tables."""
    with pytest.raises(ValueError, match=f"^the rules at {place} are not those of this command, so nothing"):
        sj.run_sweep(small, tmp_path / "out", OtherRules(answer), jobs=1)
    kept = [path.name[:8] for path in the_parts(tmp_path / "out")]
    assert kept[:2] == ["00000000", "00000001"]
    assert "00000002" not in kept
    sj.run_sweep(small, tmp_path / "out", Inline(), jobs=1)
    sj.run_sweep(small, tmp_path / "untouched", Inline(), jobs=1)
    assert same(tmp_path / "out", tmp_path / "untouched")


def test_a_sweep_goes_on_by_the_rules_that_it_began_with(
    small: sj.runs.Sweep, half: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a rule was edited, or the package updated, an unfinished sweep is not mixed with new numbers."""
    before = sorted(path.name for path in (half / "parts").iterdir())
    monkeypatch.setattr(store, "source_digest", lambda: "another")
    with pytest.raises(ValueError, match="was begun with another version of Sojourn"):
        sj.run_sweep(small, half, Inline(), jobs=1)
    assert sorted(path.name for path in (half / "parts").iterdir()) == before


# --- Actions ------------------------------------------------------------------------


def test_actions_of_any_number_are_kept() -> None:
    """Action 70,000 is 70,000 in the table; one that does not fit is refused rather than truncated."""
    column = results.policy_column(np.array([[0, 65_535, 65_536, 70_000, 2**32 - 1]]))
    assert column.to_list() == [[0, 65_535, 65_536, 70_000, 2**32 - 1]]
    with pytest.raises(ValueError, match="has the action 4,294,967,296"):
        results.policy_column(np.array([[0, 2**32]]))


def test_a_sweep_keeps_an_action_beyond_sixteen_bits(tmp_path: Path) -> None:
    """In a world whose only action is number 70,000, that is the policy in the table, as it is of a single run."""
    file, only = tmp_path / "wide.json", 70_000
    save_model(sj.models.from_transitions([(0, only, 0, 1.0, 1.0, 1.0)]), file)
    worlds, agents = [{"kind": "model", "data": str(file)}], [{"kind": "smart"}]
    wide = sj.runs.parse_sweep({"seeds": 1, "steps": 2, "world": worlds, "agent": agents})
    sj.run_sweep(wide, tmp_path / "out", Inline(), jobs=1)
    assert sj.load_results(tmp_path / "out")["policy"].to_list() == [[only]]


def test_a_folder_of_another_schema_is_refused_in_a_sentence(small: sj.runs.Sweep, tmp_path: Path) -> None:
    """A finished folder of an earlier version can still be read, but not resumed."""
    sj.run_sweep(small, tmp_path / "out", Inline(), jobs=1)
    file = tmp_path / "out" / "sweep.json"
    text = file.read_text().replace(f'"schema_version": {results.SCHEMA_VERSION}', '"schema_version": 3')
    assert text != file.read_text()
    file.write_text(text)
    with pytest.raises(ValueError, match="holds this sweep as another version of Sojourn ran it"):
        sj.run_sweep(small, tmp_path / "out", Inline(), jobs=1)
    assert len(sj.load_results(tmp_path / "out")) == small.num_runs


# --- Links --------------------------------------------------------------------------


@pytest.mark.parametrize("planted", ["sweep.log", ".lock", "parts"])
def test_a_planted_link_stops_a_sweep_and_changes_nothing_elsewhere(
    planted: str, small: sj.runs.Sweep, tmp_path: Path
) -> None:
    """A sweep refuses to write through a link, and the link's target stays unchanged."""
    elsewhere, out = tmp_path / "elsewhere", tmp_path / "out"
    out.mkdir()
    if planted == "parts":
        sj.run_sweep(small, out, Inline(0), jobs=1)
        shutil.rmtree(out / "parts")
        elsewhere.mkdir()
    (out / planted).symlink_to(elsewhere)
    with pytest.raises(
        OSError,
        match=f"{planted} is a link to another place, and nothing is written through links; remove it",
    ):
        sj.run_sweep(small, out, Inline(), jobs=1)
    assert not elsewhere.exists() or not list(elsewhere.iterdir())
    (out / planted).unlink()
    assert sj.run_sweep(small, out, Inline(), jobs=1).lost == 0
