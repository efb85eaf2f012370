"""No control characters from foreign names reach the terminal."""

from __future__ import annotations

import re
import signal
import sys
import time
import warnings
from pathlib import Path

import polars as pl
import pytest

from sojourn.answers.sweep import summary
from sojourn.cli import entry
from sojourn.cli.app import echo_lines
from sojourn.cli.commands import run
from sojourn.cli.entry import CtrlC
from sojourn.data.text import printable
from sojourn.learner.driver import interruptible
from sojourn.report import terminal
from sojourn.runs.progress import progress

SOURCE = Path(__file__).resolve().parents[2] / "src" / "sojourn"
EVIL = "a\x1b[2J\x1b]0;owned\x07b\r\nsojourn: all is well\x9b31m\u202e"


def raw(text: str) -> str:
    """Return the control characters in a text, except for line ends."""
    return re.sub(r"[^\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", "", text)


def test_only_one_place_prints() -> None:
    """Commands print only through `say`, which escapes control characters."""
    allowed = {
        "cli/app.py": {"typer.echo(", "Console(", "print("},
        "data/child.py": {"stdin.write("},  # requests to the reader
        "cli/entry.py": {"stderr.write("},  # "interrupted", before there is anything else
        "runs/progress.py": {"Console(", "print("},  # with a label that is printable
        "models/explore.py": {"print("},  # the number of states found so far
        "rules/jit/compiler.py": {"print("},  # the notice about compiling
    }
    for path in sorted(SOURCE.rglob("*.py")):
        code = "\n".join(
            line for line in path.read_text().splitlines() if not line.lstrip().startswith((">>>", "..."))
        )
        found = set(re.findall(r"typer\.s?echo\(|\bprint\(|Console\(|std\w+\.write\(|sys\.exit\(f", code))
        assert found <= allowed.get(path.relative_to(SOURCE).as_posix(), set()), path


@pytest.mark.parametrize(
    "arguments",
    [
        ("solve", f"{EVIL}.toml"),
        ("solve", "gosavi", "-o", f"{EVIL}=1"),
        ("solve", "gosavi", f"--{EVIL}"),
        (EVIL,),
        ("train", EVIL),
        ("train", "sojourn/TwoState-v0", "--agent", EVIL),
        ("sweep", "sweep.toml", "--out", "out"),
        ("sweep", "other.toml", "--out", EVIL),
        ("report", EVIL),
        ("results", EVIL),
        ("data", "check", f"{EVIL}.csv"),
    ],
)
def test_control_characters_in_names_are_escaped(
    arguments: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Control characters in a name, from the command line or a file, are escaped."""
    quoted = "".join(f"\\u{ord(char):04x}" if ord(char) < 160 or ord(char) > 255 else char for char in EVIL)
    (tmp_path / "sweep.toml").write_text(
        f'name = "{quoted}"\nseeds = 1\nsteps = 10\n[[world]]\nkind = "two-state"\nlog_scale = 0.01\n'
        f'[[agent]]\nkind = "smart"\nlabel = "{quoted}"\n'
    )
    (tmp_path / "other.toml").write_text(f'"{quoted}" = 1\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["sojourn", *arguments])
    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)  # which commands change
    code = run()
    printed = "".join(capfd.readouterr())
    assert printed
    assert code != 0 or arguments[1] == "sweep.toml"
    assert "Traceback" not in printed
    assert raw(printed) == ""
    assert "\nsojourn: all is well" not in printed


def test_tables_show_names_too(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Control characters in an agent's label are escaped in tables of results."""
    row = {"world": EVIL, "agent": EVIL, "cell": "c", "error": None, "diverged": False}
    table = pl.DataFrame(
        [{**row, "rate": 1.0, "reward": 1.0, "duration": 1.0}], schema_overrides={"error": pl.String}
    )
    echo_lines(terminal.lines([summary(table)]))
    printed = capfd.readouterr().out
    assert printable(EVIL)[:40] in printed
    assert raw(printed) == ""


def test_printable_text_is_unchanged() -> None:
    """Letters of any script, symbols and spaces are unchanged; lone surrogates are escaped."""
    for text in ("café 東京 95 % → 5 µs", "thin\u2009space", ""):
        assert printable(text) == text
    assert printable("\udc80\t") == "\\udc80\\t"


def test_a_signal_at_the_very_end_of_a_command_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C between a command's return and the end of the process has no effect."""
    before, hook = signal.getsignal(signal.SIGINT), sys.unraisablehook
    monkeypatch.setattr(entry, "found", lambda name: lambda: 0)

    class Late(CtrlC):
        fell = 0

        def over(self) -> None:
            if not Late.fell:
                Late.fell += 1
                self(signal.SIGINT, None)  # just before the end
            super().over()
            self(signal.SIGINT, None)  # just after it

    monkeypatch.setattr(entry, "CtrlC", Late)
    try:
        with pytest.raises(SystemExit) as end:
            entry.main()
    finally:
        signal.signal(signal.SIGINT, before)
        sys.unraisablehook = hook
    assert end.value.code == 0
    assert capsys.readouterr().err == ""


def test_the_rest_of_a_burst_is_ignored() -> None:
    """After training has handled a signal, the further signals of the same burst do not interrupt anything else."""
    before = signal.getsignal(signal.SIGINT)
    ctrl_c = CtrlC()
    signal.signal(signal.SIGINT, ctrl_c)
    try:
        with interruptible() as asked:
            signal.raise_signal(signal.SIGINT)
        assert asked == [signal.SIGINT]
        signal.raise_signal(signal.SIGINT)  # the rest of the burst
        ctrl_c = CtrlC()
        signal.signal(signal.SIGINT, ctrl_c)
        with interruptible():
            pass
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)  # no signal had been noted
    finally:
        signal.signal(signal.SIGINT, before)


def test_only_long_work_is_announced(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without a terminal, a line soon announces the amount of work; work that ends before that prints none."""
    with progress("training", 1000) as advance:
        advance(1000)
    assert capsys.readouterr().err.startswith("training: 100 % of 1,000 steps")
    with pytest.raises(ValueError), progress("training", 1000):  # noqa: PT011 - any error
        raise ValueError
    with progress("training", 1000):
        time.sleep(1.0)
    assert capsys.readouterr().err == "training: 1,000 steps to do\n"
