"""Spoiled files of every format get one sentence, or are read right; none hangs, dies or takes too much memory."""

from __future__ import annotations

import gzip
import io
import math
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from counting import Counted
from fuzz.campaign import CORPUS, FINE, Child, campaign
from sojourn.runs.spec import load_sweep
from sojourn.worlds.market.bars import load_bars

SHORT = {
    "models": 150,
    "sweeps": 40,
    "learners": 25,
    "policies": 60,
    "bars": 50,
    "logs": 40,
    "rates": 30,
    "reports": 8,
}
LONG = {
    "models": 70_000,
    "sweeps": 12_000,
    "learners": 6_000,
    "policies": 6_000,
    "bars": 12_000,
    "logs": 12_000,
    "rates": 10_000,
    "reports": 1_500,
}


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    """The process in which files are tried."""
    child = Child()
    yield child
    child.stop()


@pytest.mark.parametrize("target", SHORT)
def test_spoiled_files_are_read_right_or_refused(target: str, child: Child) -> None:
    """A few hundred files, the same in every run; some of them are accepted, so that numbers are compared at all."""
    counts, failures = campaign(target, SHORT[target], child=child)
    assert [failure[:5] for failure in failures] == []
    assert counts["accepted"] >= 1
    assert counts["refused"] >= 1


@pytest.mark.evidence
@pytest.mark.parametrize("target", LONG)
def test_a_hundred_thousand_spoiled_files(target: str, counted: Counted) -> None:
    """More than 100,000 over all formats: no traceback, no hang over 5 s, no death, no wrong number, no 500 MB."""
    counts, failures = campaign(target, LONG[target])
    assert [failure[:5] for failure in failures] == []
    assert sum(LONG.values()) >= 100_000
    counted("fuzzed inputs", tried=counts.total(), failed=len(failures))


@pytest.mark.parametrize(
    "path", sorted(path for path in CORPUS.glob("*/*")), ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_the_corpus_itself(path: Path, child: Child) -> None:
    """Whole files are accepted; those that once failed are accepted or get one sentence."""
    found = child.tried(path.parent.name, path)
    assert found["outcome"] in (FINE if path.name.startswith("found-") else ("accepted",)), found["text"]


@pytest.mark.parametrize("name", sorted(path.name for path in (CORPUS / "bars").glob("found-death-*")))
def test_files_that_ended_the_process_get_a_sentence(name: str) -> None:
    """Parquet files over which polars ended the whole process are refused, by name."""
    with pytest.raises(ValueError, match=name):
        load_bars(CORPUS / "bars" / name)


# --- Bombs ----------------------------------------------------------------------------


def bomb_gz(path: Path) -> Path:
    """Three megabytes that unpack to three gigabytes: members may follow each other in a gzip file."""
    header = gzip.compress(b"timestamp,open,close\n", mtime=0)
    path.write_bytes(header + 100 * gzip.compress(b"0,0,0\n" * 5_000_000, mtime=0))
    return path


def bomb_zip(path: Path) -> Path:
    """A learner's archive with a hundred entries that are all the same ten megabytes of the file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo("contents.json"), b"{}")
        archive.writestr(zipfile.ZipInfo("00.npy"), bytes(10_000_000))
        info = archive.infolist()[1]
        for number in range(1, 100):
            other = zipfile.ZipInfo(f"{number:02}.npy")
            other.CRC, other.file_size, other.compress_size = info.CRC, info.file_size, info.compress_size
            other.header_offset = info.header_offset
            archive.filelist.append(other)
            archive.NameToInfo[other.filename] = other
    path.write_bytes(buffer.getvalue())
    return path


MODEL = """
states = {states}
actions = 1
[[pairs]]
state = {state}
action = {action}
reward = 1.0
duration = 1.0
next = {{ "0" = 1.0 }}
"""
SWEEP = """
seeds = {seeds}
steps = 10
[[world]]
kind = "{kind}"
{option}
[[agent]]
kind = "smart"
step_size = {sizes}
"""


def sweep(**parts: Any) -> str:
    usual = {"seeds": 2, "kind": "two-state", "option": "log_scale = 0.1", "sizes": 0.1}
    return SWEEP.format(**(usual | parts))


def model(**parts: Any) -> str:
    return MODEL.format(**({"states": 1, "state": 0, "action": 0} | parts))


grid = "log_scale = { logspace = [1e-3, 1, 1000] }\nslope = { linspace = [1, 2, 1000] }\noffset = { linspace = [1, 2, 1000] }"


@pytest.mark.parametrize(
    ("target", "name", "text", "sentence"),
    [
        ("models", "m.toml", model(states=10**9, state=999_999_999), "there is a state 999999999 but no state 1"),
        ("models", "m.toml", model(state=10**30, states=10**30), "there is a state 1000000000000000000000000000000"),
        ("sweeps", "s.toml", sweep(kind="model", option='data = "/dev/zero"'), "/dev/zero is a device or a pipe"),
        ("sweeps", "s.toml", sweep(kind="market", option='data = "/dev/zero"'), "/dev/zero is a device or a pipe"),
        ("sweeps", "s.toml", sweep(kind="model", option='data = "FIFO"'), "fifo is a device or a pipe; give a file"),
        ("sweeps", "s.toml", sweep(kind="market", option='data = "FIFO"'), "fifo is a device or a pipe; give a file"),
        ("sweeps", "s.toml", sweep(sizes="{ linspace = [0.1, 0.2, 3_000_000] }"), "it must be at most 10,000"),
        ("sweeps", "s.toml", sweep(kind="admission-control", option="capacity = 1e30"), "it must be at most 1,000"),
        ("sweeps", "s.toml", sweep(kind="river-swim", option="num_states = 1e9"), "it must be at most 1,000"),
        ("sweeps", "s.toml", sweep(option=grid), "the sweep has 2,000,000,000 runs; it may have at most 100,000,000"),
        ("sweeps", "s.toml", sweep(seeds=10**7), "seeds is 10000000; it must be at most 1,000,000"),
        ("sweeps", "s.toml", sweep(sizes="[" * 5000 + "]" * 5000), "is not a TOML file"),
    ],
)  # fmt: skip
def test_a_bomb_gets_one_sentence(
    target: str, name: str, text: str, sentence: str, child: Child, tmp_path: Path
) -> None:
    """What would take all memory or never end is refused within seconds, with the limit or the reason."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / name).write_text(text.replace("FIFO", str(tmp_path / "fifo")))
    refused(child, target, tmp_path / name, sentence)


def test_bombs_that_are_packed_get_one_sentence(child: Child, tmp_path: Path) -> None:
    """Files that would unpack to gigabytes are refused before they do."""
    gz = bomb_gz(tmp_path / "bars.csv.gz")
    refused(child, "bars", gz, "unpacks to more than")
    refused(child, "learners", bomb_zip(tmp_path / "learner.zip"), "its parts overlap")


def refused(child: Child, target: str, path: Path, sentence: str) -> None:
    found = child.tried(target, path)
    assert found["outcome"] == "refused", found
    assert sentence in found["text"]
    assert found["memory"] < 500.0
    assert found["seconds"] < 2.0


def test_a_table_that_no_memory_holds_is_refused(tmp_path: Path) -> None:
    """A model may number an action 999,999,999; a world with a table of them is refused."""
    import sojourn as sj

    model = sj.models.from_transitions([(0, 999_999_999, 0, 1.0, 1.0, 1.0)])
    assert math.isclose(sj.solve(model).gain, 1.0)
    with pytest.raises(ValueError, match="at most 50,000,000 entries, so number the actions from 0"):
        sj.worlds.Tabular(model)
    with pytest.raises(ValueError, match="it may have at most 50,000,000 values"):
        sj.smart(10**6, 10**6)


def test_two_entries_with_a_cell_in_common_are_found_without_making_all_cells(tmp_path: Path) -> None:
    """Grids of a hundred million cells are compared by their axes; one common choice in each is one common cell."""
    axes = (
        "log_scale = {{ logspace = [1e-3, 1, 1000] }}\nslope = {{ linspace = [1, 2, 1000] }}\noffset = {last}"
    )
    first, other, apart = (axes.format(last=last) for last in ("[1, 2, 3]", "[3, 4]", "[5, 6]"))
    for second, common in ((other, True), (apart, False)):
        option = f'{first}\n[[world]]\nkind = "two-state"\n{second}'
        (tmp_path / "s.toml").write_text(sweep(option=option))
        if common:
            with pytest.raises(ValueError, match="world 1 and world 2 have a cell in common"):
                load_sweep(tmp_path / "s.toml")
        else:
            assert load_sweep(tmp_path / "s.toml").num_cells == 5_000_000
