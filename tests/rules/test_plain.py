"""Every shortcut into Numba's private interface has a public fallback with the same bits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import plain_numba
from counting import Counted
from plain_numba import AGENTS, LANES
from sojourn.rules.bridge import PLAIN, TRICKS

MODULES = [f"sojourn.rules.jit.{module}" for module in TRICKS.values() if module]
_TRY = """
import sys
import sojourn as sj
run = sj.run(sj.worlds.Tabular(sj.problems.gosavi()), sj.smart(2, 2), 2_000, seed=5)
print(run.rate.hex(), run.agent.values.q.tobytes().hex())
"""
_WITHOUT = """
import builtins
found = builtins.__import__
def without(name, names=None, *others):
    if (names or {}).get("__name__", "") in MODULES and name.startswith(("numba.core", "numba.np", "llvmlite")):
        raise ImportError(f"no module named {name}")
    return found(name, names, *others)
builtins.__import__ = without
"""


def python(*words: str, off: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run Python with some shortcuts switched off, and with an empty cache if a folder is given."""
    variables = {**os.environ, PLAIN: off, **({"SOJOURN_CACHE_DIR": str(folder)} if folder else {})}
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False, env=variables
    )


@pytest.fixture(scope="module")
def usual() -> str:
    """The result of a run with all shortcuts."""
    done = python("-c", _TRY, off="")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.evidence
def test_everything_compiles_by_the_public_interface(usual: str) -> None:
    """With all shortcuts switched off, a run gives the same bits, and none of their modules is imported."""
    done = python("-c", f"{_TRY}assert not set({MODULES}) & set(sys.modules)", off="all")
    assert done.returncode == 0, done.stderr
    assert done.stdout == usual


def test_machine_code_without_shortcuts_is_cached_separately(tmp_path: Path) -> None:
    """Machine code compiled with a shortcut is not used without it, and vice versa."""
    code = "from sojourn.rules.jit.cache import cache_folder; print(cache_folder())"
    places = {
        python("-c", code, off=off, folder=tmp_path).stdout for off in ("", "parts", "stacks", "parts,stacks")
    }
    assert len(places) == 4


def test_numba_without_its_private_names_works(usual: str, tmp_path: Path) -> None:
    """If Numba lacks what a shortcut needs, rules compile without it to the same bits, and a warning says so."""
    done = python("-c", f"MODULES = {MODULES}\n{_WITHOUT}{_TRY}", off="", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == usual
    assert "this version of Numba is not known to sojourn (no module named llvmlite" in done.stderr


def test_an_unknown_shortcut_is_refused(tmp_path: Path) -> None:
    """An unknown name in the environment variable is reported in one sentence."""
    done = python("-c", _TRY, off="parts,nonsense", folder=tmp_path)
    assert done.stderr.endswith(
        "ValueError: SOJOURN_PLAIN_NUMBA names 'nonsense'; it may name parts, borrowed, stacks, lanes, entry, files, or all\n"
    )


@pytest.mark.evidence
@pytest.mark.parametrize("off", [*TRICKS, "all"])
def test_every_agent_learns_the_same_without_a_trick(off: str, counted: Counted) -> None:
    """Whatever is switched off, every agent learns the same values in runs, in learners and in lanes, bit for bit."""
    names = [LANES] if off == "lanes" else [*AGENTS, LANES] if off == "all" else AGENTS
    expected, found = (hashes(names, tricks) for tricks in ("", off))
    counted(
        "agents compiled without private Numba",
        tried=len(names),
        failed=sum(expected[name] != found[name] for name in names),
    )


def hashes(names: list[str], off: str) -> Any:
    """Return hashes of what agents learn with some shortcuts switched off."""
    done = python(plain_numba.__file__, *names, off=off)
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    return {name: found["hashes"] for line in told for name, found in line.items()}
