"""What a command says on standard error, beside how far its work has come."""

from __future__ import annotations

import re


def said(stderr: str) -> list[str]:
    r"""Return the lines of standard error, without the one that tells how much is to do.

    That line comes after half a second, which on a busy machine is before anything has gone wrong.

    >>> said("training: 10 steps to do\nsojourn: step 0: the duration is missing\n")
    ['sojourn: step 0: the duration is missing']
    """
    return [line for line in stderr.splitlines() if not re.fullmatch(r"[^:]+: [\d,]+ steps to do", line)]
