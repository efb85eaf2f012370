"""Settings for all tests."""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import browsing
import counting
from interpreting import interpreted
from sojourn.rules import kernel as kernels

# Where the tests are started in the background, Ctrl-C is ignored, and so it would be by the
# programs that they start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Compilation makes some first examples slow; that is no flaw of theirs. Where a run decides
# whether a change lands, the examples are the same in each; elsewhere they vary.
settings.register_profile("sojourn", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("sojourn")


# Most tests take so few steps that all would be interpreted, and compiled code would go untested.
# `learner/test_gradual.py` is about what happens otherwise; the documentation's programs run as they are.
kernels.PATIENCE = 0.0


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of `make evidence`."""
    parser.addoption("--evidence", action="store_true", help="run the long tests, and no others")


def pytest_configure(config: pytest.Config) -> None:
    """Say what the marks mean."""
    config.addinivalue_line("markers", "evidence: takes long; run by `make evidence` only")
    config.addinivalue_line(
        "markers", "interpreted: its claim is not about compilation; kernels run in Python"
    )
    config.addinivalue_line("markers", "compiled: an exception in a file whose tests are interpreted")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the long tests, or all others."""
    wanted = bool(config.getoption("--evidence"))
    left_out = [item for item in items if (item.get_closest_marker("evidence") is not None) != wanted]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]


@pytest.fixture(autouse=True)
def in_python(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run the kernels of a test marked `interpreted` in Python; those of long tests are always compiled."""
    marks = {mark.name for mark in request.node.iter_markers()}
    plainly = "interpreted" in marks and not marks & {"compiled", "evidence"}
    with interpreted() if plainly else contextlib.nullcontext():
        yield


@pytest.fixture
def counted(record_property: Callable[[str, object], None]) -> counting.Counted:
    """Count what a long test has tried, and fail it if any of that failed; see `counting`."""
    return counting.counter(record_property)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what was counted; `make evidence` also writes it where the documentation finds it."""
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.getreports(kind)]
    found = [
        (str(promise), int(tried), int(failed))
        for report in reports
        if report.when == "call"
        for name, (promise, tried, failed) in report.user_properties
        if name == counting.PROPERTY
    ]
    if found:
        counts = counting.added_up(found)
        terminalreporter.section("what was tried")
        for line in counting.lines(counts):
            terminalreporter.write_line(line)
        if config.getoption("--evidence"):
            option = config.option
            counting.keep(counts, whole=not (option.file_or_dir or option.keyword or option.markexpr))


@pytest.fixture(scope="session")
def small_studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both studies of the paper, small, once for all tests of the report."""
    from report_samples import studies

    return studies(tmp_path_factory.mktemp("studies"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser for the tests of a file; it keeps an event loop running, which other files' tests could not bear."""
    with browsing.started() as running:
        yield running
