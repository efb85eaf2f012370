"""The Typer application, and what its commands share."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from typer.core import TyperGroup

from sojourn.cli.entry import INTERRUPTED
from sojourn.data.text import printable

if TYPE_CHECKING:
    from sojourn.data.files import Json


class _Commands(TyperGroup):
    """The group of all commands. Ctrl-C ends any of them with one sentence, and user input is quoted safely."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the options before the command."""
        with _with_care():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with _with_care():
            return super().invoke(ctx)


@contextlib.contextmanager
def _with_care() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        say("sojourn: interrupted", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except Exception as error:
        message = getattr(error, "message", None)
        if hasattr(error, "format_message") and isinstance(message, str):  # raised by the parser
            error.message = printable(message)  # type: ignore[attr-defined]
        raise


T = TypeVar("T", bound=Callable[..., Any])

app = typer.Typer(cls=_Commands, no_args_is_help=True, pretty_exceptions_enable=False)


def examples(*lines: str) -> str:
    """Return the epilogue of a command's help: examples that run as they are."""
    return "\n".join(("Examples:", *(f"  {line}" for line in lines)))


def command(*shown: str, name: str | None = None, group: typer.Typer | None = None) -> Callable[[T], T]:
    """Return a decorator that registers a command whose help ends with these examples."""
    return (app if group is None else group).command(name, epilog=examples(*shown))


def _print_version(wanted: bool) -> None:
    if wanted:
        from sojourn import __version__

        say(__version__)
        raise typer.Exit


@app.callback(
    epilog=examples(
        "sojourn solve gosavi",
        "sojourn compare gosavi long-shot jobs",
        "sojourn train sojourn/AdmissionControl-v0 --agent smart",
        "sojourn reproduce robustness",
    )
)
def _sojourn(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error.", envvar="SOJOURN_DEBUG")
    ] = False,
) -> None:
    """Average-reward reinforcement learning in semi-Markov decision processes.

    Exit codes: 0 success; 1 an error, explained in one sentence;
    2 the command line was not understood; 3 some runs of a sweep failed;
    130 interrupted.
    """
    if debug:
        os.environ["SOJOURN_DEBUG"] = "1"


Out = Annotated[Path, typer.Option(help="Folder for results, figures and a README.")]
Jobs = Annotated[int | None, typer.Option(help="Number of threads; one per core by default.", min=1)]
Formats = Annotated[str, typer.Option(help="Formats of the figures: png, svg, pdf.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def say(line: str, *, err: bool = False, bold: bool = False, ending: str = "", colour: str = "") -> None:
    """Print a line, with control characters escaped so that the terminal does not obey them.

    `ending` is printed last, in `colour`.
    """
    styled = typer.style(printable(ending), fg=colour or None) if ending else ""
    text = typer.style(printable(line), bold=True) if bold else printable(line)
    typer.echo(text + styled, err=err)


def echo_json(data: Json) -> None:
    """Print data as JSON; infinite numbers, which JSON does not have, become null."""
    import json

    from sojourn.data.hints import plain

    say(json.dumps(plain(data), allow_nan=False))


def echo_lines(lines: Iterable[str]) -> None:
    """Print lines."""
    for line in lines:
        say(line)


@contextlib.contextmanager
def goes_on() -> Iterator[None]:
    """End an interrupted command with a sentence that says how to resume it."""
    try:
        yield
    except KeyboardInterrupt:
        say("sojourn: interrupted; run the same command again to continue", err=True)
        raise typer.Exit(INTERRUPTED) from None


def run() -> int:
    """Run the command that was typed and return its exit code.

    An error is printed as one sentence, or raised with --debug.
    """
    warnings.formatwarning = lambda message, *_, **__: f"sojourn: {printable(str(message))}\n"
    try:
        app()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a panic in Polars is not an Exception
        if os.environ.get("SOJOURN_DEBUG"):
            raise
        say(f"sojourn: {sentence(error)}", err=True)
        return 1
    return 0


def sentence(error: BaseException) -> str:
    """Return the sentence that a user sees for an error; an unexpected error is reported as a defect.

    >>> sentence(ValueError("seeds is empty; give at least one"))
    'seeds is empty; give at least one'
    >>> sentence(IndexError("list index out of range"))  # doctest: +ELLIPSIS
    'this is a defect of sojourn, not your mistake (IndexError: list index out of range); please report it with ...'
    """
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, ValueError | TypeError | OSError):
        return str(error)
    told = " ".join(f"{type(error).__name__}: {error}".split())
    return (
        f"this is a defect of sojourn, not your mistake ({told}); please report it with the command, its files and what "
        "the same command prints after sojourn --debug"
    )
