"""Where the process begins and ends.

Nothing is imported here that takes long, so that Ctrl-C is ours almost from the start.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from sojourn.cli.ctrl_c import INTERRUPTED, CtrlC
from sojourn.rules.names import found


def main() -> None:
    """Run the command line; an error is one sentence, and with SOJOURN_DEBUG=1 a traceback too."""
    ctrl_c = CtrlC()
    ctrl_c.install()
    code: int | None = None
    try:
        run: Callable[[], int] = found("sojourn.cli.commands:run")  # type: ignore[assignment]
        code = run()
        ctrl_c.over()  # here, so that no signal can fall between the command and this
    except KeyboardInterrupt:
        ctrl_c.over()
        if code is None:  # else the command is over, and has said what there was to say
            sys.stderr.write("sojourn: interrupted\n")
            code = INTERRUPTED
    sys.exit(code)
