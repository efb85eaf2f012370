"""What compiled code comes to: everything that agents of all kinds have learned, as hashes, and how long it took.

    SOJOURN_PLAIN_NUMBA=parts,stacks python tests/plain_numba.py NAME ...

It prints, as a line of JSON, a hash of each agent after a compiled run and after a learner's training, both compiled from the first
step. The numbers must not depend on the variable, which names tricks that reach into Numba and are to be done without.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import conftest
import sojourn as sj
from saved_files import LEARNERS, Kind, trained

assert conftest  # it has learners compile from their first step
AGENTS = [name for name in LEARNERS if not name.startswith("rate-") or name == "rate-AdaptiveRatio"]
LANES = "lanes"  # the name of a batch large enough to be taken side by side
_STEPS = 2_000
_SIDE_BY_SIDE = 110_000_000  # steps: from 100 million on, runs are taken side by side


def figures(name: str) -> dict[str, Any]:
    """Return hashes of what an agent has learned, and the seconds of processor time that it took."""
    begun = time.process_time()
    found = (
        _side_by_side() if name == LANES else {**_run(LEARNERS[name]), "learner": _learner(LEARNERS[name])}
    )
    return {"hashes": found, "seconds": round(time.process_time() - begun, 2)}


def _run(kind: Kind) -> dict[str, str]:
    """Return what the agent of a learner comes to in a run, if it can run in a world of ours."""
    make: Callable[..., Any] | None = kind.make if inspect.isfunction(kind.make) else None
    first = next(iter(inspect.signature(make).parameters)) if make else ""
    options = {
        key: given for key, given in kind.options.items() if key not in ("duration", "bins", "initial")
    }
    if make is None or first == "spaces":
        return {}
    if first == "num_inputs":
        return {"run": _digest(sj.run(sj.worlds.continuous.Wear(), make(1, 2, **options), _STEPS, seed=5))}
    return {
        "run": _digest(sj.run(sj.worlds.Tabular(sj.problems.gosavi()), make(2, 2, **options), _STEPS, seed=5))
    }


def _learner(kind: Kind) -> str:
    """Return what a learner comes to: the bytes of its file."""
    with tempfile.TemporaryDirectory() as folder:
        trained(kind).save(Path(folder, "learner"))
        return hashlib.sha256(Path(folder, "learner").read_bytes()).hexdigest()[:16]


def _side_by_side() -> dict[str, str]:
    agents = sj.grid(sj.harmonic_r, num_states=2, num_actions=2, step_size=np.linspace(0.01, 0.1, 64))
    episodes = _SIDE_BY_SIDE // (64 * 1000)
    runs = sj.run_many(
        sj.worlds.TwoState(log_scale=1e-3), agents, seeds=1, steps=1000, episodes=episodes, jobs=1
    )
    return {"runs": _digest((*runs.columns.values(), runs.policy))}


def _digest(value: Any) -> str:
    """Return a hash of all numbers in a value, to the last bit."""
    digest = hashlib.sha256()
    for part in _parts(value):
        digest.update(part)
    return digest.hexdigest()[:16]


def _parts(value: Any) -> Iterator[bytes]:
    if isinstance(value, tuple):
        for field in value:
            yield from _parts(field)
    elif isinstance(value, np.ndarray) and value.dtype != object:
        yield repr((value.dtype.str, value.shape)).encode() + value.tobytes()
    else:
        yield (value.hex() if isinstance(value, float) else repr(value)).encode()


if __name__ == "__main__":
    for each in sys.argv[1:]:
        sys.stdout.write(json.dumps({each: figures(each)}) + "\n")
        sys.stdout.flush()
