"""Numbers that would make something run for ever or exhaust memory are refused at once, in one sentence."""

from __future__ import annotations

import inspect
import json
import resource
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import sojourn as sj
from counting import Counted
from sojourn.models.problems.catalogue import PROBLEMS, SEVERAL_GAINS
from sojourn.worlds.catalogue import WORLDS

MEMORY = 4 * 2**30  # bytes of address space, mostly for the libraries
SECONDS = 10.0  # CPU seconds, so independent of load

REFUSED = {
    "sj.problems.four_rooms(slip=1.0)": "more than 2,000 steps; slip must be smaller",
    "sj.problems.four_rooms(slip=1.0 - 1e-12)": "more than 2,000 steps; slip must be smaller",
    "sj.check_smdp_env(sj.envs.WorldEnv(two), steps=2**63)": "steps is 9223372036854775808; it must be at most",
    "sj.run(sj.worlds.Switching(one, 1e-9), sj.smart(1, 1), steps=9)": "less than a thousandth of the longest mean",
    "sj.worlds.Switching(one, sj.laws.Exponential(1e-300))": "less than a thousandth of the longest mean duration",
    "sj.gain(sj.worlds.Switching(one, 9.0), 1e300)": "clock is 1e+300, when too many regimes have passed",
    "sj.gain(drawn, 1e300)": "clock is 1e+300, when too many regimes have passed",
    "sj.run_many(two, sj.smart(2, 2), seeds=range(10**12), steps=9)": "seeds has too many; run_many needs",
    "sj.run_many(two, sj.smart(2, 2), seeds=itertools.count(), steps=9)": "seeds has too many; run_many needs",
    "sj.run_many(two, sj.smart(2, 2), seeds=10**12, steps=9)": "seeds is 1000000000000; it must be at most",
    **{
        f"sj.Learner({'hold' if agent == 'sac' else 'wear'}, {agent!r}, {option}=10**9)": f"{option} is 1000000000; it must be at most"
        for agent, options in {
            "deep-q": ("batch", "replay", "warm_up", "every"),
            "ppo": ("rollout", "batch", "epochs"),
            "sac": ("batch", "replay", "warm_up", "every"),
        }.items()
        for option in options
    },
}
TRY = f"""
import itertools, resource, sys, warnings
import sojourn as sj
from sojourn.models import from_transitions
resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}))
warnings.simplefilter("ignore")
two = sj.worlds.TwoState(log_scale=1e-3)
one = [from_transitions([(0, 0, 0, 1.0, pay, 1.0)]) for pay in (1.0, 2.0)]
drawn = sj.start(sj.worlds.Switching(one, sj.laws.Exponential(9.0)), sj.random.stream(1))[0]
wear, hold = sj.envs.make("sojourn/Wear-v0", {{}}), sj.envs.make("sojourn/Hold-v0", {{}})
for call in sys.argv[1:]:
    print(call, flush=True)
    try:
        eval(call)
    except ValueError as error:
        print(error)
"""


def test_endless_work_is_refused() -> None:
    """It is refused within seconds, and without allocating the memory."""
    command = [sys.executable, "-c", TRY, *REFUSED]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    lines = done.stdout.splitlines()
    assert lines[::2] == [*REFUSED], "one line for each"
    for said, sentence in zip(lines[1::2], REFUSED.values(), strict=True):
        assert sentence in said


def test_a_sweep_over_rooms_that_are_never_left_is_refused(tmp_path: Path) -> None:
    """Five lines of TOML cannot exhaust memory, with or without --dry-run."""
    file = tmp_path / "rooms.toml"
    file.write_text(
        'seeds = 1\nsteps = 10\nworld = [{ kind = "four-rooms", slip = 1 }]\nagent = [{ kind = "smart" }]\n'
    )
    sojourn = Path(sys.executable).with_name("sojourn")
    command = [str(each) for each in (sojourn, "sweep", file, "--out", tmp_path / "out", "--dry-run")]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith("sojourn: world 1 (four_rooms): with this slip, ")
    assert done.stderr.count("\n") == 1


# --- All options of all problems and worlds -------------------------------------------

EDGES: tuple[float, ...] = (
    *(0, 1, 2, 3, -1, 0.5, 0.999999, 1 - 1e-15, 1e-9, 1e-300, 5e-324),
    *(1e3, 10**6, 10**9, 2**31, 2**63, 1e300, float("inf"), float("nan")),
)


class Late(BaseException):
    """Raised after ten CPU seconds; no handler catches it."""


def late(number: int, frame: FrameType | None) -> None:
    raise Late


def makers() -> dict[str, tuple[Any, dict[str, Any]]]:
    """Return the constructor and example options of each kind of problem and world."""
    problems: dict[str, tuple[Any, dict[str, Any]]] = {
        name: (each[name], {}) for each in (PROBLEMS, SEVERAL_GAINS) for name in each
    }
    return problems | {name: (world.make, dict(world.example)) for name, world in WORLDS.items()}


def try_all(kind: str) -> None:
    """Print the number of values tried, and those that took too much time or memory."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGPROF, late)
    warnings.simplefilter("ignore")
    make, example = makers()[kind]
    tried, failed = 0, []
    for option, parameter in inspect.signature(make).parameters.items():
        if isinstance(parameter.default, bool | str | tuple):
            continue
        for edge in EDGES:
            tried += 1
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            try:
                use(make(**{**example, option: edge}))
            except (Late, MemoryError) as error:
                failed.append(f"{option}={edge}: {type(error).__name__}")
            except Exception:  # noqa: BLE001, S110 - any error will do, as long as it ends
                pass
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0.0)
    sys.stdout.write(json.dumps([tried, failed]))


def use(made: Any) -> None:
    """Solve a problem; take a few steps in a world, and query its properties."""
    if isinstance(made, sj.SMDP):
        sj.solve(made)
        return
    sj.run(made, sj.smart(max(made.num_states, 1), max(made.num_actions, 1)), steps=20, compiled=False)
    sj.gain(made)


@pytest.mark.evidence
def test_no_option_makes_a_problem_or_world_endless(counted: Counted) -> None:
    """Extreme values of each numeric option get an answer within ten CPU seconds and limited memory."""
    tried, failed = 0, []
    for kind in makers():
        done = subprocess.run(
            [sys.executable, "-c", f"from runs.test_endless import try_all; try_all({kind!r})"],
            check=False,
            capture_output=True,
            text=True,
            cwd=Path(__file__).parents[1],
            timeout=600,
        )
        assert done.returncode == 0, (kind, done.stderr)
        values, late_ones = json.loads(done.stdout)
        tried += values
        failed += [f"{kind} {each}" for each in late_ones]
    sys.stdout.write("\n".join(failed))  # shown if the test fails
    counted("options at the edge of their range", tried=tried, failed=len(failed))
