"""Settings for all tests."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# Where the tests are started in the background, Ctrl-C is ignored, and so it would be by the
# programs that they start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Compilation makes some first examples slow; that is no flaw of theirs. Where a run decides
# whether a change lands, the examples are the same in each; elsewhere they vary.
settings.register_profile("sojourn", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("sojourn")


@pytest.fixture(scope="session")
def small_studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both studies of the paper, small, once for all tests of the report."""
    from report_samples import studies

    return studies(tmp_path_factory.mktemp("studies"))
