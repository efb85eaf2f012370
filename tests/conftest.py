"""Settings for all tests."""

from hypothesis import settings

# Compilation makes some first examples slow; that is no flaw of theirs.
settings.register_profile("sojourn", deadline=None)
settings.load_profile("sojourn")
