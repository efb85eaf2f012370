"""Where the process begins and ends.

Nothing that takes long is imported here, so Ctrl-C is handled almost from the start.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from sojourn.cli.ctrl_c import INTERRUPTED, CtrlC
from sojourn.rules.names import found


def main() -> None:
    """Run the command line; an error prints one sentence, or with SOJOURN_DEBUG=1 its traceback."""
    ctrl_c = CtrlC()
    ctrl_c.install()
    code: int | None = None
    try:
        run: Callable[[], int] = found("sojourn.cli.commands:run")  # type: ignore[assignment]
        code = run()
        ctrl_c.over()  # inside the try, so that a signal right after the command is caught
    except KeyboardInterrupt:
        ctrl_c.over()
        if code is None:  # else the command has ended and printed its own message
            sys.stderr.write("sojourn: interrupted\n")
            code = INTERRUPTED
    sys.exit(code)
