"""Parses command-line values: options as key=value, policies, and lists of numbers."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn.data.numbers import shown

if TYPE_CHECKING:
    from sojourn.data.files import Json, JsonObject


def options_of(texts: list[str] | None, name: str) -> JsonObject:
    """Parse options given as key=value; values that are valid JSON, such as numbers or lists, are parsed as JSON.

    >>> options_of(["log_scale=1e-3", "duration=scaled"], "--env-option")
    {'log_scale': 0.001, 'duration': 'scaled'}
    """
    options: JsonObject = {}
    for text in texts or []:
        key, sign, value = text.partition("=")
        if not (sign and key.strip()):
            raise ValueError(f"{name} {shown(text)} must be written as key=value")
        options[key.strip().replace("-", "_")] = plain(value)
    return options


def estimator_of(text: str) -> str | JsonObject:
    """Return an estimator's name, or a table with its name as `kind` and options.

    >>> estimator_of("mine:Forgetting"), estimator_of("power-mean exponent=2 weight=duration")
    ('mine:Forgetting', {'kind': 'power-mean', 'exponent': 2, 'weight': 'duration'})
    """
    name, *options = text.split() or [text]
    return {"kind": name, **options_of(options, "--estimator")} if options else name


def floats_of(text: str, name: str) -> tuple[float, ...]:
    """Parse numbers separated by commas.

    >>> floats_of("0.03, 1e-1", "--exploration")
    (0.03, 0.1)
    """
    try:
        return tuple(float(word) for word in text.split(","))
    except ValueError:
        raise ValueError(f"{name} {shown(text)} must be numbers separated by commas") from None


def grids_of(texts: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """Parse the choices of options given as option=choices or agent.option=choices.

    >>> grids_of(["step-size=0.01,0.1", "smart.step_size=0.3"])
    {'step_size': (0.01, 0.1), 'smart.step_size': (0.3,)}
    """
    grids = {}
    for text in texts:
        key, sign, choices = text.partition("=")
        if not (sign and key.strip()):
            raise ValueError(f"--grid {shown(text)} must be written as option=0.01,0.1")
        grids[key.strip().replace("-", "_")] = floats_of(choices, f"--grid {key}")
    return grids


def actions_of(text: str) -> list[int]:
    """Parse a policy given as actions separated by commas or spaces.

    >>> actions_of("0,1, 0")
    [0, 1, 0]
    """
    words = text.replace(",", " ").split()
    if not words or not all(word.isdecimal() for word in words):
        raise ValueError(f"--policy {shown(text)} must be the action of each state, such as 0,1,0")
    return [int(word) for word in words]


def plain(text: str) -> Json:
    """Parse JSON; any other text is returned unchanged.

    >>> plain("[8, 4]"), plain("tau")
    ([8, 4], 'tau')
    """
    try:
        found: Json = json.loads(text)
    except ValueError:
        return text
    return found


def env_name(text: str) -> str:
    """Return the name of an environment; a module in it may be in the current folder.

    The folder is searched last, so it cannot shadow an installed module.

    >>> env_name("sojourn/TwoState-v0")
    'sojourn/TwoState-v0'
    """
    here = str(Path.cwd())
    if ":" in text and here not in sys.path:
        sys.path.append(here)
    return text


def key_or_number(text: str) -> str | float:
    """Return the text as a number if it is one, else unchanged.

    >>> key_or_number("1.5"), key_or_number("tau")
    (1.5, 'tau')
    """
    try:
        return float(text)
    except ValueError:
        return text


def numbers_of(option: str, text: str, least: int) -> tuple[int, ...]:
    """Parse numbers and ranges such as 0-4,7; return them sorted and without repetition.

    >>> numbers_of("--segments", "7,0-2", least=0)
    (0, 1, 2, 7)
    """
    numbers: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not (first.isdecimal() and (last.isdecimal() if dash else True) and len(last or first) < 10):
            raise ValueError(f"{option} is {text!r}; it must be numbers and ranges, such as 0-4,7")
        if int(last or first) - int(first) > 1_000_000:
            raise ValueError(f"{option} is {text!r}; a range may span at most 1,000,000")
        numbers.update(range(int(first), int(last or first) + 1))
    if not numbers or min(numbers) < least:
        raise ValueError(
            f"{option} is {text!r}; its numbers must be at least {least}, and its ranges ascending"
        )
    return tuple(sorted(numbers))


def fractions_of(option: str, text: str) -> list[float]:
    """Parse step sizes separated by commas; return them sorted and without repetition.

    >>> fractions_of("--step-sizes", "0.1, 0.01")
    [0.01, 0.1]
    """
    words = [word.strip() for word in text.split(",") if word.strip()]
    found = [key_or_number(word) for word in words]
    for word, number in zip(words, found, strict=True):
        if isinstance(number, str) or not 0.0 < number <= 1.0:
            raise ValueError(f"{option} has {shown(word)}; step sizes are numbers above 0 and at most 1")
    return sorted({number for number in found if isinstance(number, float)})


def formats_of(text: str) -> tuple[str, ...]:
    """Parse figure formats separated by commas; an empty string means no figures.

    >>> formats_of("png, pdf"), formats_of("")
    (('png', 'pdf'), ())
    """
    from sojourn.report.figures import KNOWN_FORMATS

    formats = tuple(word.strip().lower() for word in text.split(",") if word.strip())
    for word in formats:
        if word not in KNOWN_FORMATS:
            raise ValueError(
                f"--formats {shown(word)} is not a format for figures; choose from {', '.join(KNOWN_FORMATS)}"
            )
    return formats
