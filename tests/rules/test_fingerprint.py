from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Protocol

import pytest

from sojourn.rules.jit import identity
from sojourn.rules.jit.identity import fingerprint

MINE = """
from typing import NamedTuple
import math
import numpy as np
import sojourn as sj
import other

SCALE = 2.0
TABLE = np.array([1.0, 2.0])
CHOICES = {"a": 1}
_value = sj.value.bare

class Made(NamedTuple):
    y: float = 0.0

class Mine(NamedTuple):
    x: float = 0.0

def twice(x):
    return 2.0 * x

def outer(k):
    def closed(rate, reward, duration):
        return Mine(rate.x + k * reward)
    return closed

def rule(rate, reward, duration, share=0.5):
    BODY

def of_made(rate):
    return rate.y
"""
OTHER = """
FACTOR = 3.0
def cube(x):
    return x * x * x
"""


class FingerprintOf(Protocol):
    def __call__(
        self, body: str, edit: tuple[str, str] = ..., other: tuple[str, str] = ...
    ) -> str | None: ...


@pytest.fixture
def fingerprint_of(monkeypatch: pytest.MonkeyPatch) -> FingerprintOf:
    """A function that returns the fingerprint of an edited module; `body` is the body of its rule."""

    def tell(body: str, edit: tuple[str, str] = ("", ""), other: tuple[str, str] = ("", "")) -> str | None:
        modules = {}
        for name, source in (
            ("other", OTHER.replace(*other)),
            ("mine", MINE.replace("BODY", body).replace(*edit)),
        ):
            modules[name] = ModuleType(name)
            monkeypatch.setitem(sys.modules, name, modules[name])
            exec(source, modules[name].__dict__)  # noqa: S102 - written above
        mine = modules["mine"]
        rule: FunctionType = mine.outer(3.0) if body == "closed" else mine.rule
        return fingerprint([mine.Mine], {mine.Mine: [rule], mine.Made: [mine.of_made]})

    return tell


@pytest.mark.parametrize(
    ("body", "edit", "other"),
    [
        ("return Mine(rate.x + 1.0)", ("+ 1.0", "+ 1.5"), ("", "")),
        ("return Mine(rate.x + 1.0)", ("+ 1.0", "- 1.0"), ("", "")),
        ("return Mine(rate.x + 1.0)", ("+ 1.0", "+ 1"), ("", "")),
        ("return Mine(rate.x * SCALE)", ("SCALE = 2.0", "SCALE = 2"), ("", "")),
        ("return Mine(rate.x * SCALE)", ("SCALE = 2.0", "SCALE = -2.0"), ("", "")),
        ("return Mine(twice(rate.x))", ("2.0 * x", "2.5 * x"), ("", "")),
        ("return Mine(TABLE[0])", ("[1.0, 2.0]", "[1.0, 3.0]"), ("", "")),
        ("return Mine(math.exp(rate.x))", ("math.exp", "math.log"), ("", "")),
        ("return Mine(other.cube(rate.x))", ("", ""), ("x * x * x", "x * x")),
        ("return Mine(other.FACTOR)", ("", ""), ("3.0", "4.0")),
        ("return Mine(_value(Made(1.0)))", ("return rate.y", "return -rate.y"), ("", "")),
        ("return Mine(_value(Made(1.0)))", ("sj.value.bare", "sj.update.bare"), ("", "")),
        ("return Mine(Made().y)", ("y: float = 0.0", "y: float = 1.0"), ("", "")),
        ("return Mine(rate.x)", ("x: float = 0.0", "x: float = 0.0\n    z: float = 0.0"), ("", "")),
        ("return Mine(rate.x)", ("share=0.5", "share=0.25"), ("", "")),
        ("closed", ("k * reward", "k - reward"), ("", "")),
    ],
)
def test_whatever_changes_a_number_changes_the_fingerprint(
    fingerprint_of: FingerprintOf, body: str, edit: tuple[str, str], other: tuple[str, str]
) -> None:
    """Code, constants, called functions, modules, arrays, closures, defaults, and types that are only constructed."""
    before, after = fingerprint_of(body), fingerprint_of(body, edit, other)
    assert before is not None
    assert after is not None
    assert before == fingerprint_of(body)
    assert before != after


def test_closures_change_the_fingerprint(fingerprint_of: FingerprintOf) -> None:
    """Functions with the same source but different closures have different fingerprints."""
    fingerprint_of("closed")
    mine = sys.modules["mine"]
    found = {fingerprint([mine.Mine], {mine.Mine: [mine.outer(k)]}) for k in (1.0, 2.0, 2)}
    assert len(found) == 3
    assert None not in found


def test_irrelevant_edits_keep_the_fingerprint(fingerprint_of: FingerprintOf) -> None:
    """Comments, constants that no rule reads and functions that none calls do not change the fingerprint."""
    plain = fingerprint_of("return Mine(rate.x)")
    assert plain == fingerprint_of("return Mine(rate.x)  # so be it")
    assert plain == fingerprint_of("return Mine(rate.x)", ("SCALE = 2.0", "SCALE = 7.0"))
    assert plain == fingerprint_of("return Mine(rate.x)", ("2.0 * x", "9.0 * x"))


@pytest.mark.parametrize(
    "body", ["return Mine(CHOICES['a'])", "return Mine(other)", "return Mine(sj.Mystery)"]
)
def test_what_cannot_be_hashed_has_no_fingerprint(fingerprint_of: FingerprintOf, body: str) -> None:
    """A dictionary has no fingerprint; a module is hashed by the names in use; nothing missing is guessed."""
    assert (fingerprint_of(body) is None) == ("CHOICES" in body)


def test_a_local_class_has_no_fingerprint(fingerprint_of: FingerprintOf) -> None:
    """A class inside a function cannot be imported by another process, so its code is not cached."""
    from typing import NamedTuple

    class Inside(NamedTuple):
        x: float = 0.0

    assert fingerprint([Inside], {}) is None


SCRIPT = """
from typing import NamedTuple
import sojourn as sj
from sojourn.runs import loop

STEP = 0.5

class Kept(NamedTuple):
    total: float = 0.0

@sj.update.register
def update_kept(rate: Kept, reward: float, duration: float) -> Kept:
    return Kept(rate.total + STEP)

@sj.value.register
def value_kept(rate: Kept) -> float:
    return rate.total

result = sj.run(sj.worlds.TwoState(log_scale=1e-3), sj.agents.random_agent(2, 2)._replace(rate=Kept()), steps=10)
assert type(result.agent.rate) is Kept
(jit,) = loop._walk._dispatchers.values()
print(result.rate, sum(jit.stats.cache_hits.values()))
"""


def test_a_users_machine_code_is_kept_until_the_rules_change(tmp_path: Path) -> None:
    """A user's program is compiled once; after an edit of one constant, it is compiled again and gives the new number."""
    script = tmp_path / "program.py"
    environment = {**os.environ, "SOJOURN_CACHE_DIR": str(tmp_path / "cache")}

    def printed(source: str) -> list[str]:
        script.write_text(source)
        done = subprocess.run(
            [sys.executable, script], check=True, capture_output=True, text=True, env=environment
        )
        return done.stdout.split()

    cold, warm = printed(SCRIPT), printed("# moved\n" + SCRIPT)
    assert cold[1] == "0"
    assert warm == [cold[0], "1"]
    edited = printed(SCRIPT.replace("STEP = 0.5", "STEP = 1.5"))
    assert edited == [str(3.0 * float(cold[0])), "0"]


def test_a_parse_that_fails_for_no_reason_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Python's own parser fails now and then while other threads parse; a run is not lost by that, and a real fault shows."""
    file, failures, parse = tmp_path / "mine.py", [SystemError("recursion depth mismatch")] * 3, ast.parse
    file.write_text("import other")

    def parsed(source: bytes) -> ast.Module:
        if failures:
            raise failures.pop()
        return parse(source)

    monkeypatch.setattr(ast, "parse", parsed)
    assert set(identity._imports("mine", file)) == {"other"}
    failures += [SystemError("recursion depth mismatch")] * 100
    with pytest.raises(SystemError):
        set(identity._imports("mine", file))
