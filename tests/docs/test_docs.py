"""Every code block of every page is run, or at least parsed.

What a block is follows from its language. Python is executed, and dialogues must print what
the page says; the blocks of a page share one namespace and one empty folder, but those of the README are
programs of their own. Lines that begin with `# >` are what the program prints. `sh` is a list of commands,
`console` commands with `$` before them and what they print (`...` stands for anything). TOML is a
sweep or a model, JSON is JSON. Formulas and other things to look at are `text`.

A comment above a block says more about it: `<!-- file: NAME -->` puts the block into the folder under that
name, and `<!-- parsed: REASON -->` has it checked as far as that goes without running it. `<!-- data: NAME -->` runs it where the
data of that name are, which are not part of the project, and only reads it elsewhere.
"""

from __future__ import annotations

import doctest
import io
import json
import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import polars as pl
import pytest
import typer
from typer.testing import CliRunner

import sojourn as sj
from sojourn.cli.commands import app
from sojourn.models.model_files import parse_model
from sojourn.runs import results
from sojourn.runs.batch import FIGURES

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
README = ROOT / "README.md"
PAGES = sorted([README, ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(
    r"(?:^ *<!-- (?P<mark>file|parsed|data): (?P<note>[^\n]+?) -->\n\n?)?"
    r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
SHOWN = ("text", "csv")
LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    text: str
    line: int
    mark: str
    note: str


def blocks(page: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page, in order."""
    content = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(content):
        lines = found["text"].splitlines()
        text = "".join(line.removeprefix(found["indent"]) + "\n" for line in lines)
        line = content.count("\n", 0, found.start("text"))
        yield Block(found["language"] or "sh", text, line, found["mark"] or "", found["note"] or "")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.interpreted
@pytest.mark.parametrize("page", [page for page in PAGES if "```" in page.read_text()], ids=name_of)
def test_every_block_of_the_page_does_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All blocks of a page run as written, in order, in a separate folder."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "experiments", "experiments")
    make_bars("bars.csv", "bars.parquet", "btcusd.parquet")
    module = ModuleType("page")  # values defined on a page are pickled, so they need a module
    monkeypatch.setitem(sys.modules, "page", module)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])  # as Python adds the working directory
    before = set(sys.modules)
    try:
        for block in blocks(page):
            if page == README:
                module.__dict__.clear()
                module.__dict__["__name__"] = "page"
            try:
                check(block, module)
            except (Exception, SystemExit) as error:
                raise AssertionError(f"{name_of(page)}, line {block.line}: {error}") from error
    finally:  # another page may have a different file of the same name
        for name in set(sys.modules) - before:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
                del sys.modules[name]


def make_bars(*names: str) -> None:
    """Write synthetic bars under the file names that pages use for a reader's own data."""
    bars = sj.worlds.synthetic_bars(2000)
    table = pl.DataFrame({"timestamp": bars.timestamp, "open": bars.open, "close": bars.close})
    for name in names:
        write = table.write_csv if name.endswith(".csv") else table.write_parquet
        write(name)


def check(block: Block, module: ModuleType) -> None:
    """Run a block, or parse it."""
    run = block.mark != "parsed"
    if block.mark == "data" and (run := (DATA / block.note).exists()):
        shutil.copy(DATA / block.note, ".")
    if block.mark == "file":
        Path(block.note).write_text(block.text, encoding="utf-8")
    if block.language in ("python", "pycon"):
        check_python(block, module, run)
    elif block.language in ("sh", "console"):
        for command, printed in commands(block):
            check_command(command, printed, run)
    elif block.language == "toml":
        check_toml(tomllib.loads(block.text))
    elif block.language == "json":
        json.loads(block.text)
    else:
        assert block.language in SHOWN, f"there is no way to check a block of {block.language!r}"


def check_python(block: Block, module: ModuleType, run: bool) -> None:
    if ">>>" not in block.text:
        code = compile("\n" * block.line + block.text, "page.md", "exec")
        if run:
            with redirect_stdout(io.StringIO()) as out:
                exec(code, module.__dict__)  # noqa: S102 - our own documentation
            said = [line.removeprefix("# > ") for line in block.text.splitlines() if line.startswith("# > ")]
            if said:
                assert " ".join(said).split() == out.getvalue().split(), (
                    f"the program printed\n{out.getvalue()}"
                )
        return
    dialogue = doctest.DocTestParser().get_doctest(block.text, {}, "page", "page.md", block.line)
    if not run:
        for example in dialogue.examples:
            compile(example.source, "page.md", "single")
        return
    dialogue.globs = module.__dict__
    heard: list[str] = []
    doctest.DocTestRunner(verbose=False).run(dialogue, out=heard.append, clear_globs=False)
    assert not heard, "".join(heard)


def check_toml(content: dict[str, Any]) -> None:
    """A model has pairs; anything else is a sweep, or a part of one."""
    if "pairs" in content:
        parse_model(content)
        return
    whole = {
        "seeds": 1,
        "steps": 10,
        "world": [{"kind": "two-state", "log_scale": 0.01}],
        "agent": [{"kind": "smart"}],
    }
    for world in content.get("world", []):
        if "segment" in world:
            world["segment_length"] = 500  # of the synthetic bars
    assert sj.runs.parse_sweep(whole | content).num_runs > 0


# --- Commands -----------------------------------------------------------------------


def commands(block: Block) -> Iterator[tuple[list[str], str | None]]:
    """Yield the words of every command, and its documented output."""
    text = block.text.replace("\\\n", " ")
    if block.language == "sh":
        for line in text.splitlines():
            if words := shlex.split(line, comments=True):
                yield words, None
        return
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, printed = part.partition("\n")
        yield shlex.split(line, comments=True), printed


def check_command(words: list[str], printed: str | None, run: bool) -> None:
    """Run one of our commands; check others as far as possible."""
    program, arguments = words[0], words[1:]
    if program == "make":
        targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
        assert set(arguments) <= set(targets), f"make has no {arguments}"
    elif program == "pip":
        check_extras(arguments)
    elif program == "sojourn" and run:
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, f"{shlex.join(words)} ended with {result.exit_code}: {result.output}"
        if printed is not None:
            agrees = doctest.OutputChecker().check_output(printed, result.stdout, LOOSE)
            assert agrees, f"{shlex.join(words)} printed\n{result.stdout}"
    else:
        assert program == "sojourn", f"{program} is not a command that a page should ask for"
        parse(arguments)


def parse(arguments: list[str]) -> None:
    """Refuse an unknown command or option."""
    command: Any = typer.main.get_command(app)
    words = list(arguments)
    while hasattr(command, "commands"):
        assert words, "which command?"
        assert words[0] in command.commands, f"sojourn has no command {words[0]}"
        command = command.commands[words.pop(0)]
    command.make_context("sojourn", words)


def command_names(command: Any, words: tuple[str, ...] = ("sojourn",)) -> Iterator[str]:
    """Yield every command, preceded by the names of its groups."""
    if not hasattr(command, "commands"):
        yield " ".join(words)
        return
    for name, inner in command.commands.items():
        yield from command_names(inner, (*words, name))


def test_the_page_of_commands_has_every_command() -> None:
    """The page of commands lists exactly the existing commands."""
    rows = re.findall(r"^\| `(sojourn [^`]+)` \|", (ROOT / "docs" / "commands.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(command_names(typer.main.get_command(app)))


def test_the_page_on_sweeps_has_the_columns_that_there_are() -> None:
    """The page names the version of the schema, and every figure that results have."""
    text = (ROOT / "docs" / "sweeps.md").read_text()
    columns = set(re.findall(r"`(\w+)`", text.split("## The tables")[1].split("`curves.parquet`")[0]))
    assert f"schema version {results.SCHEMA_VERSION}" in text
    assert set(FIGURES) | {"gain", "regret", "rate_gap", "policy", "error"} <= columns


def check_extras(arguments: list[str]) -> None:
    """Check that an install command installs this package with existing extras."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert arguments[0] == "install"
    for argument in arguments[1:]:
        found = re.fullmatch(r"(?:sojourn|\.)(?:\[(\w+)\])?", argument)
        assert found, f"{argument} is not this package"
        assert found[1] is None or found[1] in extras, f"there is no extra {found[1]}"


# --- The test itself ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ("```python\n>>> 1 + 1\n3\n```\n", "Expected"),
        ("```python\nraise ValueError('no')\n```\n", "no"),
        ("<!-- parsed: long -->\n```python\nx = (\n```\n", "never closed"),
        ("```sh\nsojourn no-such-command\n```\n", "ended with 2"),
        ("<!-- parsed: long -->\n```sh\nsojourn solve gosavi --no-such-option\n```\n", "no-such-option"),
        ("```console\n$ sojourn --version\n0.0\n```\n", "printed"),
        ("```sh\nmake no-such-target\n```\n", "no-such-target"),
        ("```sh\npip install 'sojourn[none]'\n```\n", "no extra"),
        ("```sh\nrm file\n```\n", "not a command"),
        ('```toml\n[[agent]]\nkind = "smarter"\n```\n', "did you mean"),
        ("```ruby\n1\n```\n", "no way to check"),
    ],
)
def test_a_block_that_is_wrong_is_found(
    wrong: str, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page with a mistake in a block fails, whatever the language, with an error about the mistake."""
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(wrong)
    (block,) = blocks(page)
    with pytest.raises(Exception) as found:  # noqa: PT011 - of any kind; the message is compared
        check(block, ModuleType("page"))
    said = str(found.value)
    assert complaint in said


def test_every_fence_of_every_page_is_seen() -> None:
    """No block is overlooked: each fence belongs to a block that was found."""
    for page in PAGES:
        fences = re.findall(r"^ *```", page.read_text(), flags=re.MULTILINE)
        assert len(fences) == 2 * len(list(blocks(page))), name_of(page)


def test_a_simpy_model_becomes_an_environment_with_fifteen_lines() -> None:
    """On the page about simulations, turning the queue into an environment takes at most 15 new or changed lines."""
    plain, decided = (
        [re.sub(r"\bsim\b", "env", line).strip() for line in block.text.splitlines() if line.strip()]
        for block in blocks(ROOT / "docs" / "simulations.md")
        if block.language == "python" and "Queue" in block.text
    )
    assert 5 < len([line for line in decided if line not in plain]) <= 15
