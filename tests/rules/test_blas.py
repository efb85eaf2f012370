"""BLAS is limited to one thread for small systems."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import linalg

import sojourn as sj
from sojourn.rules.blas import controls, one_thread

WALK = """
import os
import time
import numpy as np
import scipy.sparse.linalg
import sojourn as sj

def busy():
    # The CPU time, in hundredths of a second, of all threads but the first: those of BLAS.
    others = [each for each in os.listdir("/proc/self/task") if int(each) != os.getpid()]
    return sum(int(open(f"/proc/self/task/{each}/stat").read().rsplit(")", 1)[1].split()[11]) for each in others)

side = 101
place = np.arange(side**2).reshape(side, side)
around = np.stack([np.roll(place, by, axis) for axis in (0, 1) for by in (1, -1)], axis=-1).ravel()
weights = np.random.default_rng(0).random((side**2, 4))
model = sj.SMDP(
    np.arange(side**2 + 1), np.arange(side**2 + 1) * 4, around,
    (weights / weights.sum(axis=1, keepdims=True)).ravel(), weights[:, 0], 0.5 + weights[:, 1],
)
time.sleep(0.5)  # new threads of BLAS look out for work for a moment before they sleep
before = busy()
sj.evaluate(model, np.zeros(side**2, dtype=int))
large = busy() - before
part = sj.SMDP(
    np.arange(401), np.arange(401) * 4, around[:1600] % 400, model.probability[:1600], model.reward[:400], model.duration[:400]
)
for _ in range(5):
    sj.evaluate(part, np.zeros(400, dtype=int))
print(large, busy() - before)
"""


@pytest.fixture
def two_threads() -> Iterator[None]:
    """Let BLAS use two threads, whatever the environment of the tests."""
    if not controls():
        pytest.skip("this NumPy does not use OpenBLAS")
    before = [count() for count, _ in controls()]
    for _, use in controls():
        use(2)
    yield
    for (_, use), number in zip(controls(), before, strict=True):
        use(number)


def numbers() -> set[int]:
    return {count() for count, _ in controls()}


@pytest.mark.usefixtures("two_threads")
def test_one_thread_inside_and_the_old_number_afterwards() -> None:
    """Inside the context there is one thread, even if two callers overlap; the last to leave restores the setting."""
    assert numbers() == {2}
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with one_thread():
            inside.set()
            leave.wait(10.0)

    helper = threading.Thread(target=other)
    with one_thread():
        helper.start()
        assert inside.wait(10.0)
    assert numbers() == {1}
    leave.set()
    helper.join()
    assert numbers() == {2}
    with pytest.raises(ZeroDivisionError), one_thread():
        _ = 1 / 0
    assert numbers() == {2}


@pytest.mark.usefixtures("two_threads")
def test_systems_are_solved_in_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Solvers, evaluations and logs run dense and sparse factorisations with one thread."""
    seen: list[str] = []

    def watched(name: str, function: Any) -> Any:
        def called(*args: Any, **options: Any) -> Any:
            assert numbers() == {1}
            seen.append(name)
            return function(*args, **options)

        return called

    monkeypatch.setattr(np.linalg, "solve", watched("solve", np.linalg.solve))
    monkeypatch.setattr(np.linalg, "inv", watched("inv", np.linalg.inv))
    monkeypatch.setattr(linalg, "splu", watched("splu", linalg.splu))
    ring = [(s, 0, t, 0.5, float(s), 1.0) for s in range(100) for t in (s, (s + 1) % 100)]
    sj.exact.policy_iteration(sj.models.from_transitions(ring))
    walk = [
        (s, 0, t, 0.5, 1.0 / (s + 1), 1.0) for s in range(2000) for t in (max(s - 1, 0), min(s + 1, 1999))
    ]
    sj.evaluate(sj.models.from_transitions(walk), np.zeros(2000, dtype=int))
    for states in (6, 600):
        state = np.arange(3000) * 7 % states
        columns = {
            "state": state,
            "action": np.arange(3000) % 2,
            "reward": state % 5,
            "duration": 1.0 + state % 3,
        }
        sj.read_log(columns).improve()
    assert set(seen) == {"solve", "inv", "splu"}


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs Linux's list of threads")
def test_evaluations_use_a_single_thread() -> None:
    """An evaluation of 10,201 states, and of 400, uses no thread but the calling one."""
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", WALK], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "0"]
