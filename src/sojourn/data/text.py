"""Text that goes to a terminal."""

from __future__ import annotations

import unicodedata


def printable(line: str) -> str:
    r"""Return a line with its control characters escaped, as `repr` does.

    Names come from users and from files. A terminal obeys control characters in them: they can change colours,
    move the cursor, or overwrite what was printed before.

    >>> print(printable("caf\u00e9 \x1b[2Jgone\nsojourn: all is well"))
    café \x1b[2Jgone\nsojourn: all is well
    """
    if line.isprintable():
        return line
    return "".join(char if _is_seen(char) else repr(char)[1:-1] for char in line)


def _is_seen(char: str) -> bool:
    return char.isprintable() or unicodedata.category(char) == "Zs"
