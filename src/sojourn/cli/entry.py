"""The entry point of the process, and its handling of Ctrl-C.

No slow imports here, so Ctrl-C is handled almost from the start.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType

from sojourn.data.names import found

INTERRUPTED = 130  # the exit code


class CtrlC:
    """The first Ctrl-C interrupts; another, more than a second later, kills the process.

    A key held down, or a terminal that sends the signal twice, causes many signals within milliseconds. They
    count as one, because later signals must not interrupt the clean-up that the first one started. All files are
    written atomically, so killing the process does no harm either.
    """

    STORM = 1.0  # seconds

    def __init__(self) -> None:
        self._first: float | None = None
        self._over: float | None = None

    def install(self) -> None:
        """Install the handler, unless the process ignores the signal, as background processes do."""
        mine = threading.current_thread() is threading.main_thread()
        if mine and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, self)
            sys.unraisablehook = self.lost

    def over(self) -> None:
        """Ignore the signal for a second while Python shuts down; after that, it interrupts again."""
        self._over = time.monotonic()

    def noted(self) -> None:
        """Count a signal handled by other code as the first; further signals are ignored for a second."""
        if self._first is None:
            self._first = time.monotonic()

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle the signal."""
        now = time.monotonic()
        if self._over is not None:
            if now - self._over > self.STORM:
                raise KeyboardInterrupt
        elif self._first is None:
            self._first = now
            raise KeyboardInterrupt
        elif now - self._first > self.STORM:
            os.write(2, b"sojourn: interrupted\n")
            os._exit(INTERRUPTED)

    def lost(self, found: sys.UnraisableHookArgs) -> None:
        """Interrupt again if the first interrupt was swallowed by code that cannot raise, such as a finaliser."""
        if not issubclass(found.exc_type, KeyboardInterrupt):
            sys.__unraisablehook__(found)
            return
        self._first = None
        main_thread = threading.main_thread().ident
        if main_thread is not None:
            threading.Timer(0.02, signal.pthread_kill, (main_thread, signal.SIGINT)).start()


# --- The command line --------------------------------------------------------------------


def main() -> None:
    """Run the command line; an error prints one sentence, or its traceback with SOJOURN_DEBUG=1."""
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
