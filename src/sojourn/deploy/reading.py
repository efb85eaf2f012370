"""Reads the policy file of any agent, and says what it is about."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sojourn.data.files import load_json
from sojourn.data.numbers import listed, shown
from sojourn.deploy import networks, tables, tiled
from sojourn.deploy.interface import About, Policy
from sojourn.rules.door import told

KINDS: dict[str, type[Policy]] = {
    tables.LEARNED: tables.TablePolicy,
    tables.SOLVED: tables.RandomisedPolicy,
    tables.BY_LABEL: tables.LabelPolicy,
    networks.FORMAT: networks.NetworkPolicy,
    tiled.FORMAT: tiled.TilePolicy,
}


@told
def load_policy(path: str | Path, seed: int = 0) -> Policy:
    """Load the policy in a JSON file that `write_policy` wrote; `seed` starts the draws of a policy that draws.

    >>> import tempfile
    >>> import numpy as np
    >>> states = tables.Tabulation({"kind": "discrete", "count": 2, "start": 0})
    >>> policy = tables.TablePolicy(states, 0, [0, 1], np.eye(2), np.ones((2, 2)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     policy.write(f"{folder}/policy.json")
    ...     load_policy(f"{folder}/policy.json").act(1)
    1
    """
    return read(Path(path), seed, KINDS)


def read(path: Path, seed: int, kinds: dict[str, type[Policy]]) -> Policy:
    """Return the policy in a file, of the class for its format, or say in one sentence why there is none."""
    if path.suffix != ".json":
        raise ValueError(
            f"{path} is not a policy file, whose name ends with .json; write one with write_policy, or with "
            f"`sojourn policy {path} --out policy.json`"
        )
    data = load_json(path)
    kind = kinds.get(str(data.get("format")))
    if kind is None:
        known = f"of the format {shown(data['format'])}" if "format" in data else "without a format"
        raise ValueError(
            f"{path} is not a policy that sojourn wrote: it is {known}; there are {listed(list(kinds))}"
        )
    try:
        return kind.from_contents(data, seed)
    except (TypeError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise ValueError(f"{path} is not a policy that sojourn wrote: {error}") from None


def about_lines(about: About) -> Iterator[str]:
    r"""Yield the facts of a policy, one line for each.

    >>> print(*about_lines({"agent": "smart", "options": {"step_size": 0.01}, "steps": 1000}), sep="\n")
    agent         smart
      step_size   0.01
    steps         1000
    """
    facts: dict[str, Any] = {**about}
    options = facts.pop("options", {})
    width = max([*map(len, facts), *(len(name) + 2 for name in options)], default=0) + 3
    for name, fact in facts.items():
        yield f"{name.replace('_', ' '):{width}}{fact}"
        if name == "agent":
            yield from (f"  {option:{width - 2}}{choice}" for option, choice in options.items())
