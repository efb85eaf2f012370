"""Settings for all tests."""

import os

from hypothesis import settings

# Compilation makes some first examples slow; that is no flaw of theirs. Where a run decides
# whether a change lands, the examples are the same in each; elsewhere they vary.
settings.register_profile("sojourn", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("sojourn")
