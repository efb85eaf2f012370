"""Figures drawn by several processes."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import pytest

from sojourn.report import figures
from sojourn.report import figures as many_figures
from sojourn.report.charts import Axis, Lines, Series, Sheet
from sojourn.report.figures import drawing
from sojourn.report.looks import plain


def sheet(place: int) -> Sheet:
    line = Series("line", plain(place), [1.0, 2.0, 3.0], [0.1, 0.4, 0.1 * place])
    return Sheet([[Lines(f"number {place}", Axis("x"), Axis("y"), [line])]], (3.0, 2.0))


SHEETS = {f"figure-{place}": sheet(place) for place in range(6)}
FORMATS = ("png", "svg", "pdf")


def written(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def drawn_alone(folder: Path) -> dict[str, bytes]:
    for name, each in SHEETS.items():
        figures.write(each, folder / name, FORMATS)
    return written(folder)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The other processes, as they are started."""
    processes: list[subprocess.Popen[bytes]] = []

    class Noted(subprocess.Popen[bytes]):
        def __init__(self, *args: object, **options: object) -> None:
            super().__init__(*args, **options)  # type: ignore[call-overload]
            processes.append(self)

    monkeypatch.setattr(subprocess, "Popen", Noted)
    return processes


@pytest.mark.parametrize("jobs", [pytest.param(1, marks=pytest.mark.evidence), 3])
def test_the_files_are_the_same_however_many_processes_draw(
    jobs: int, tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    """Files are identical, even if matplotlib's settings differ in this process; and no process is left over."""
    with mpl.rc_context({"axes.facecolor": "#ffeecc"}):
        expected = drawn_alone(tmp_path / "alone")
        with drawing(jobs, FORMATS) as write_sheets:
            write_sheets(SHEETS, tmp_path / "together")
    assert written(tmp_path / "together") == expected
    assert len(expected) == len(SHEETS) * len(FORMATS)
    assert [process.poll() is not None for process in started] == [True] * (jobs - 1)


def test_another_process_does_draw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other processes draw everything if this one draws nothing."""
    monkeypatch.setattr(many_figures, "_write_here", lambda left, formats: None)
    with drawing(2, ("svg",)) as write_sheets:
        write_sheets(SHEETS, tmp_path)
    assert set(written(tmp_path)) == {f"{name}.svg" for name in SHEETS}


def test_a_process_that_dies_costs_nothing_but_time(
    tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    """Sheets of a process that dies are drawn by this one."""
    with drawing(3, FORMATS) as write_sheets:
        started[0].kill()
        write_sheets(SHEETS, tmp_path / "together")
    assert written(tmp_path / "together") == drawn_alone(tmp_path / "alone")


def test_a_sheet_that_cannot_be_drawn_is_an_error_here(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A sheet that cannot be drawn raises an error here, and other processes print nothing."""
    broken = SHEETS["figure-0"]._replace(size=("wide", 2.0))  # type: ignore[arg-type]
    with pytest.raises((TypeError, ValueError)), drawing(2, ("png",)) as write_sheets:
        write_sheets({"first": broken, "second": broken}, tmp_path)
    assert capfd.readouterr() == ("", "")


def test_where_no_process_can_be_started_this_one_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If no process can be started, this one draws everything."""

    def refused(*_: object, **__: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr(subprocess, "Popen", refused)
    with drawing(2, ("png",)) as write_sheets:
        write_sheets(SHEETS, tmp_path)
    assert len(written(tmp_path)) == len(SHEETS)


def test_ctrl_c_ends_the_others_and_leaves_whole_files(
    tmp_path: Path,
    started: list[subprocess.Popen[bytes]],
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ctrl-C while drawing raises one exception and leaves no process and no partial file."""
    whole = drawn_alone(tmp_path / "alone")
    drawn_here = []

    def interrupted(sheet: Sheet, formats: Sequence[str]) -> dict[str, bytes]:
        drawn_here.append(sheet)
        if len(drawn_here) == 3:
            signal.raise_signal(signal.SIGINT)
        return files_of(sheet, formats)

    files_of = figures.files_of
    monkeypatch.setattr(figures, "files_of", interrupted)
    many = {f"{name}-{again}": each for again in range(50) for name, each in SHEETS.items()}
    with pytest.raises(KeyboardInterrupt), drawing(2, FORMATS) as write_sheets:
        write_sheets(many, tmp_path / "together")
    assert started[0].poll() is not None
    left = written(tmp_path / "together")
    assert len(left) < len(many)
    for name, content in left.items():
        title, _, kind = name.partition(".")
        assert content == whole[f"{title.rpartition('-')[0]}.{kind}"]
    assert capfd.readouterr() == ("", "")


def test_nothing_is_started_where_nothing_is_drawn(
    tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    """Without formats, no process is started."""
    with drawing(4, ()) as write_sheets:
        write_sheets(SHEETS, tmp_path)
    assert not started
    assert not list(tmp_path.iterdir())
