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
    try:
        run: Callable[[], int] = found("sojourn.cli.commands:run")  # type: ignore[assignment]
        code = run()
    except KeyboardInterrupt:
        sys.stderr.write("sojourn: interrupted\n")
        code = INTERRUPTED
    ctrl_c.over()
    sys.exit(code)
