"""What commands make of words: options as key=value, policies, and lists of numbers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn.rules.numbers import shown

if TYPE_CHECKING:
    from sojourn.rules.records import Json, Options


def options_of(texts: list[str] | None, name: str) -> Options:
    """Return options given as key=value; what is JSON, such as a number or a list, is read as JSON.

    >>> options_of(["log_scale=1e-3", "duration=scaled"], "--env-option")
    {'log_scale': 0.001, 'duration': 'scaled'}
    """
    options: Options = {}
    for text in texts or []:
        key, sign, value = text.partition("=")
        if not (sign and key.strip()):
            raise ValueError(f"{name} {shown(text)} must be written as key=value")
        options[key.strip().replace("-", "_")] = plain(value)
    return options


def actions_of(text: str) -> list[int]:
    """Return a policy given as actions with commas or spaces between them.

    >>> actions_of("0,1, 0")
    [0, 1, 0]
    """
    words = text.replace(",", " ").split()
    if not words or not all(word.isdecimal() for word in words):
        raise ValueError(f"--policy {shown(text)} must be the action of each state, such as 0,1,0")
    return [int(word) for word in words]


def plain(text: str) -> Json:
    """Return a text as what it is in JSON, or as the text.

    >>> plain("[8, 4]"), plain("tau")
    ([8, 4], 'tau')
    """
    try:
        found: Json = json.loads(text)
    except ValueError:
        return text
    return found


def env_name(text: str) -> str:
    """Return the name of an environment; if it names a module, that may be in the folder one stands in.

    The folder comes last, so that nothing in it can stand for what is installed.

    >>> env_name("sojourn/TwoState-v0")
    'sojourn/TwoState-v0'
    """
    here = str(Path.cwd())
    if ":" in text and here not in sys.path:
        sys.path.append(here)
    return text


def key_or_number(text: str) -> str | float:
    """Return a number if the text is one, else the text.

    >>> key_or_number("1.5"), key_or_number("tau")
    (1.5, 'tau')
    """
    try:
        return float(text)
    except ValueError:
        return text


def numbers_of(option: str, text: str, least: int) -> tuple[int, ...]:
    """Return the different numbers in a text such as 0-4,7, ascending.

    >>> numbers_of("--segments", "7,0-2", least=0)
    (0, 1, 2, 7)
    """
    numbers: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not (first.isdecimal() and (last.isdecimal() if dash else True) and len(last or first) < 10):
            raise ValueError(f"{option} is {text!r}; it must be numbers and ranges, such as 0-4,7")
        if int(last or first) - int(first) > 1_000_000:
            raise ValueError(f"{option} is {text!r}; that is more than there can be")
        numbers.update(range(int(first), int(last or first) + 1))
    if not numbers or min(numbers) < least:
        raise ValueError(f"{option} is {text!r}; its numbers must be at least {least}, and ranges ascend")
    return tuple(sorted(numbers))


def formats_of(text: str) -> tuple[str, ...]:
    """Return the formats of figures, given with commas between them; none asks for no figures.

    >>> formats_of("png, pdf"), formats_of("")
    (('png', 'pdf'), ())
    """
    from sojourn.report.figures import KNOWN_FORMATS

    formats = tuple(word.strip().lower() for word in text.split(",") if word.strip())
    for word in formats:
        if word not in KNOWN_FORMATS:
            raise ValueError(
                f"--formats {shown(word)} is not a format of figures; those are {', '.join(KNOWN_FORMATS)}"
            )
    return formats
