"""Settings for all tests."""

import os
import signal

from hypothesis import settings

# Where the tests are started in the background, Ctrl-C is ignored, and so it would be by the
# programs that they start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Compilation makes some first examples slow; that is no flaw of theirs. Where a run decides
# whether a change lands, the examples are the same in each; elsewhere they vary.
settings.register_profile("sojourn", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("sojourn")
