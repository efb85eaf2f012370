#!/usr/bin/env python3
"""Build the sdist and, from it, the wheel; try the wheel in an empty environment, away from the repository.

There every Python example of the README is run, the command line answers, and mypy sees the types of the public names.
Run by `make wheel`; `PYTHON=python3.13 make wheel` tries the wheel with another Python.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = "simpy"  # what the README's examples import beside the package
COMMANDS = (["--version"], ["--help"], ["solve", "admission-control"], ["claims"])

# What a type checker must know from the wheel alone: results are no `Any`, and a wrong argument is an error.
TYPED = """
import sojourn as sj
from typing import assert_type

model = sj.problems.gosavi()
assert_type(sj.solve(model).gain, float)
assert_type(sj.audit(model).gain, float)
agent = sj.smart(num_states=2, num_actions=2, step_size=0.01)
assert_type(sj.run(sj.worlds.Tabular(model), agent, steps=10), sj.runs.Run)
sj.solve("gosavi")  # type: ignore[arg-type]
"""


def main() -> None:
    """Build, install and try; the first failure ends it."""
    clock = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="sojourn-wheel-") as name:
        place = Path(name)
        wheel = built(place / "dist")
        python = installed(wheel, place / "environment")
        away = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        away["SOJOURN_CACHE_DIR"] = str(place / "cache")
        shown = try_examples(python, place, away)
        for words in COMMANDS:
            tell([str(python.with_name("sojourn")), *words], cwd=fresh(place), env=away)
        check_types(python, place)
        kept = ROOT / "dist"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(wheel.parent, kept)
    seconds = time.monotonic() - clock
    print(f"{wheel.name}: installed, examples of the README run: {shown}, types seen; {seconds:.0f} s")


def built(folder: Path) -> Path:
    """The wheel that is built from the sdist, which is built from this checkout."""
    tell([sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)])
    (sdist,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    version = re.search(r'__version__ = "(.+)"', (ROOT / "src/sojourn/__init__.py").read_text())
    assert version
    assert all(f"sojourn-{version[1]}" in made.name for made in (sdist, wheel))
    return wheel


def installed(wheel: Path, folder: Path) -> Path:
    """The interpreter of a new environment with the wheel, and what it asks for, in it."""
    tell([os.environ.get("PYTHON", sys.executable), "-m", "venv", str(folder)])
    python = folder / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    tell([*pip, f"{wheel}[{EXTRAS}]"])
    return python


def try_examples(python: Path, place: Path, env: dict[str, str]) -> int:
    """Run every Python block of the README as a program of its own, and return how many there are."""
    programs = re.findall(
        r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE
    )
    assert programs, "the README has no example"
    for program in programs:
        tell([str(python), "-c", program], cwd=fresh(place), env=env)
    return len(programs)


def check_types(python: Path, place: Path) -> None:
    """Let mypy look at a program through the installed wheel."""
    folder = fresh(place)
    (folder / "typed.py").write_text(TYPED)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={place / 'mypy'}"]
    tell([*mypy, f"--python-executable={python}", "typed.py"], cwd=folder)


def fresh(place: Path) -> Path:
    """A new empty folder."""
    return Path(tempfile.mkdtemp(dir=place))


def tell(command: list[str], cwd: Path | None = None, env: dict[str, str] | None = None) -> None:
    """Run a command, and if it fails show what it printed."""
    done = subprocess.run(command, check=False, cwd=cwd, env=env, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")


main()
