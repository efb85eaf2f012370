"""Where the process begins and ends.

Nothing is imported here that takes long, so that Ctrl-C is ours almost from the start.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable

from sojourn.cli.ctrl_c import INTERRUPTED, CtrlC
from sojourn.rules.names import found


def main() -> None:
    """Run the command line; an error is one sentence, and with SOJOURN_DEBUG=1 a traceback too."""
    ctrl_c = CtrlC()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # in the background it may be ignored
        signal.signal(signal.SIGINT, ctrl_c)
        sys.unraisablehook = ctrl_c.lost
    try:
        run: Callable[[], int] = found("sojourn.cli.commands:run")  # type: ignore[assignment]
        code = run()
    except KeyboardInterrupt:
        sys.stderr.write("sojourn: interrupted\n")
        code = INTERRUPTED
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # while Python takes itself down
    sys.exit(code)
