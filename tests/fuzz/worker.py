"""The child that spoiled files are tried in: it answers each with what came of it, or dies and is counted."""

from __future__ import annotations

import json
import os
import re
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

from fuzz.calls import calls
from fuzz.targets import TARGETS, WrongNumberError

# What Python and libraries say of themselves; a user is not to read it.
RAW = re.compile(
    r"object has no attribute|not subscriptable|unhashable|index out of range|not iterable|int too large|Error\b.*Error"
    r"|positional argument|unsupported operand|not supported between|could not be broadcast|expected string|codec can't"
    r"|'NoneType'|has no len\(|must be real number|not callable|zip\(\)|TokenError|to unpack|PanicException|this is a bug|defect"
    r"|cannot convert float|invalid literal|could not convert|surrogates not allowed|Out of range float|JSON serializable"
)
# What Python says of a call that does not fit the signature: such an error is raised by the call itself, before anything is done.
AT_THE_DOOR = re.compile(
    r"\(\) (missing \d|got an unexpected|got multiple values|takes \d)|takes no arguments|Protocols cannot be"
)
SOURCE = str(Path(sys.modules["sojourn"].__file__ or "").parent)


def tried(target: str, path: Path) -> dict[str, Any]:
    """Return whether a file was accepted or refused, and whether that was as it should be."""
    try:
        (calls if target == "calls" else TARGETS[target])(path)
    except WrongNumberError as error:
        return {"outcome": "wrong", "text": str(error)}
    except (ValueError, TypeError, OSError, RuntimeError) as error:
        text, frames = str(error), traceback.extract_tb(error.__traceback__)
        frame = frames[-1]
        if (
            target == "calls"
            and isinstance(error, TypeError)
            and AT_THE_DOOR.search(text)
            and len(frames) <= 5
        ):
            return {"outcome": "refused", "text": text}
        ours = frame.filename.startswith(SOURCE) and (frame.line or "").lstrip().startswith("raise")
        is_sentence = ours and "\n" not in text and not RAW.search(text) and 10 < len(text) < 700
        told = f"{type(error).__name__}: {text}"
        where = f" [{frame.filename}:{frame.lineno}]"
        return {"outcome": "refused" if is_sentence else "raw", "text": told if is_sentence else told + where}
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is counted
        last = traceback.extract_tb(error.__traceback__)[-1]
        return {"outcome": "raw", "text": f"{type(error).__name__}: {error} [{last.filename}:{last.lineno}]"}
    return {"outcome": "accepted", "text": ""}


def peak() -> float:
    """Return the most memory that this process has had since it was last asked to forget, in MB."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1e3  # type: ignore[index]


def main() -> None:
    """Answer each line on the standard input, a target and a path, with a line of JSON."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        target, path = line.rstrip("\n").split(" ", 1)
        Path("/proc/self/clear_refs").write_text("5")
        before, begin = peak(), time.process_time()
        found = tried(target, Path(path))
        found |= {"memory": peak() - before, "seconds": time.process_time() - begin}
        print(json.dumps(found), file=answers, flush=True)


if __name__ == "__main__":
    main()
