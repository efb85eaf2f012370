"""How fast `solve` is on the structures that people have: queues, inventories, machines, forks, a ring, a random model.

Each model is solved by `solve`, by plain policy iteration (below: SuperLU as it comes, nothing else), by each of our single
methods, and by mdpsolver if every step takes the time 1. All run one after the other in processes of their own with one
thread of BLAS, and a method that takes longer than `--limit` seconds is stopped. The figures are CPU seconds, which a
busy machine does not change much; the last column is `solve` over the best of the others.

    python bench/structures.py                       # small sizes, under two minutes
    python bench/structures.py --size medium --only "two queues" --methods solve,plain

Each method solves small models first, so that compiling is not counted.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import math
import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import sparse
from scipy.sparse import linalg

import sojourn as sj

Move = tuple[Any, Any]  # where to, and how often: arrays over the states of an action, or numbers


class Pairs:
    """Pairs of a model, collected action by action."""

    def __init__(self, num_states: int) -> None:
        self.num_states = num_states
        self._parts: list[tuple[Any, ...]] = []
        self._num_actions = 0

    def add(self, states: Any, moves: Sequence[Move], reward: Any, duration: Any = 1.0) -> None:
        """Add an action that these states have; the rates of its moves are divided by their sum."""
        count = len(states)
        targets = np.column_stack([np.broadcast_to(target, count) for target, _ in moves])
        rates = np.column_stack([np.broadcast_to(np.asarray(rate, dtype=float), count) for _, rate in moves])
        self._parts.append(
            (
                np.asarray(states),
                targets,
                rates / rates.sum(axis=1, keepdims=True),
                np.broadcast_to(np.asarray(reward, dtype=float), count),
                np.broadcast_to(np.asarray(duration, dtype=float), count),
                np.full(count, self._num_actions),
            )
        )
        self._num_actions += 1

    def model(self) -> sj.SMDP:
        """Return the model; every state must have an action."""
        state = np.concatenate([part[0] for part in self._parts])
        order = np.argsort(state, kind="stable")
        widths = np.concatenate([np.full(len(part[0]), part[1].shape[1]) for part in self._parts])
        starts = np.concatenate([[0], np.cumsum(widths)])[:-1][order]
        widths = widths[order]
        offsets = np.concatenate([[0], np.cumsum(widths)])
        rows = np.repeat(starts - offsets[:-1], widths) + np.arange(offsets[-1])
        reward, duration, action = (
            np.concatenate([part[at] for part in self._parts])[order] for at in (3, 4, 5)
        )
        return sj.SMDP(
            pair_offsets=np.concatenate([[0], np.cumsum(np.bincount(state, minlength=self.num_states))]),
            row_offsets=offsets,
            successor=np.concatenate([part[1].ravel() for part in self._parts])[rows].astype(np.int32),
            probability=np.concatenate([part[2].ravel() for part in self._parts])[rows],
            reward=reward,
            duration=duration,
            action=action.astype(np.int32),
        )


def grid(*shape: int) -> tuple[list[Any], Callable[..., Any]]:
    """Return the coordinates of the states of a grid, and the number of the state with given coordinates."""
    numbers = [axis.ravel() for axis in np.indices(shape)]

    def at(*coordinates: Any) -> Any:
        return np.ravel_multi_index(np.broadcast_arrays(*coordinates), shape)

    return numbers, at


# --- The structures ---------------------------------------------------------------------------------------------------


def two_queues(side: int, load: float) -> sj.SMDP:
    """Two queues and one server: which one to serve. Every step takes 1 (uniformised)."""
    (i, j), at = grid(side, side)
    pairs, states = Pairs(side * side), np.arange(side * side)
    quick, slow = 2.0, 1.0  # services per unit time
    first, second = load * quick / 2.0, load * slow / 2.0
    unit = first + second + quick
    for served in (0, 1):
        down = at(np.maximum(i - 1, 0), j) if served == 0 else at(i, np.maximum(j - 1, 0))
        rate = quick if served == 0 else slow
        moves = [
            (at(np.minimum(i + 1, side - 1), j), first),
            (at(i, np.minimum(j + 1, side - 1)), second),
            (down, rate),
            (states, quick - rate),
        ]
        pairs.add(states, moves, -(1.0 * i + 3.0 * j) / unit)
    return pairs.model()


def job_classes(side: int, load: float = 0.95) -> sj.SMDP:
    """Two classes of jobs on four shared servers: how many of them for the first class. Steps last until an event."""
    (i, j), at = grid(side, side)
    pairs, states, servers = Pairs(side * side), np.arange(side * side), 4
    first, second = load * 4.0 / 2.0, load * 4.0 / 4.0  # with services at 1 and 0.5
    for given in range(servers + 1):
        done_first, done_second = 1.0 * np.minimum(i, given), 0.5 * np.minimum(j, servers - given)
        total = first + second + done_first + done_second
        moves = [
            (at(np.minimum(i + 1, side - 1), j), first),
            (at(i, np.minimum(j + 1, side - 1)), second),
            (at(np.maximum(i - 1, 0), j), done_first),
            (at(i, np.maximum(j - 1, 0)), done_second),
        ]
        lost = 50.0 * (first * (i == side - 1) + second * (j == side - 1))
        pairs.add(states, moves, -(2.0 * i + 1.5 * j + lost) / total, 1.0 / total)
    return pairs.model()


def tandem(side: int) -> sj.SMDP:
    """Three queues in a row: admit a job or turn it away. Steps last until an event."""
    (i, j, k), at = grid(side, side, side)
    pairs, states = Pairs(side**3), np.arange(side**3)
    for admitted in (1, 0):
        total = 1.0 + 1.2 * (i > 0) + 1.15 * ((j > 0) & (i >= 0)) + 1.25 * (k > 0)
        stay = states
        moves = [
            (at(np.minimum(i + admitted, side - 1), j, k), 1.0),
            (np.where(j < side - 1, at(np.maximum(i - 1, 0), np.minimum(j + 1, side - 1), k), stay), 1.2 * (i > 0)),
            (np.where(k < side - 1, at(i, np.maximum(j - 1, 0), np.minimum(k + 1, side - 1)), stay), 1.15 * (j > 0)),
            (at(i, j, np.maximum(k - 1, 0)), 1.25 * (k > 0)),
        ]  # fmt: skip
        earned = 20.0 * admitted * (i < side - 1) - 1.0 * (i + j + k)
        pairs.add(states, moves, earned / total, 1.0 / total)
    return pairs.model()


def polling(side: int) -> sj.SMDP:
    """Two queues and a server that needs time to change from one to the other: serve on, or change."""
    (where, i, j), at = grid(
        4, side, side
    )  # at the first, at the second, on the way to the first, to the second
    num_states = 4 * side * side
    pairs, states = Pairs(num_states), np.arange(num_states)
    first, second, service, change = 0.35, 0.35, 1.0, 0.5
    cost = -(2.0 * i + 1.0 * j)

    def arrivals(at_place: Any) -> list[Move]:
        return [
            (at(at_place, np.minimum(i + 1, side - 1), j), first),
            (at(at_place, i, np.minimum(j + 1, side - 1)), second),
        ]

    here = where < 2
    down = np.where(where == 0, at(where, np.maximum(i - 1, 0), j), at(where, i, np.maximum(j - 1, 0)))
    going = np.where(where == 2, at(0, i, j), at(1, i, j))
    rate = np.where(here, service * np.where(where == 0, i > 0, j > 0), change)
    total = first + second + rate
    pairs.add(states, [*arrivals(where), (np.where(here, down, going), rate)], cost / total, 1.0 / total)
    to = np.where(where == 0, 3, 2)
    leaves = [*arrivals(to), (np.where(where == 0, at(1, i, j), at(0, i, j)), change)]
    length = 1.0 / (first + second + change)
    chosen = np.flatnonzero(here)
    moves = [(np.broadcast_to(target, num_states)[chosen], rate) for target, rate in leaves]
    pairs.add(chosen, moves, (cost * length)[chosen], length)
    return pairs.model()


def inventory(levels: int, mean: float = 40.0) -> sj.SMDP:
    """An (s, S) inventory with backlog: order nothing or up to one of 20 levels; then the day's Poisson demand."""
    floor = levels // 4  # the number of the state in which the stock is 0
    demand = np.arange(int(mean + 9.0 * math.sqrt(mean)))
    law = np.exp(demand * math.log(mean) - mean - np.array([math.lgamma(d + 1.0) for d in demand]))
    law /= law.sum()
    pairs, states = Pairs(levels), np.arange(levels)

    def add(chosen: Any, stock: Any, ordered: Any) -> None:
        after = np.maximum(stock[:, None] - demand, 0)
        cost = np.where(after >= floor, 1.0 * (after - floor), 9.0 * (floor - after)) @ law
        moves = [(after[:, at], p) for at, p in enumerate(law)]
        pairs.add(chosen, moves, -cost - 640.0 * ordered)

    add(states, states, 0.0)
    for top in np.linspace(floor, levels - 1, 20).astype(int):
        chosen = states[states < top]
        add(chosen, np.full(len(chosen), top), 1.0)
    return pairs.model()


def machines(levels: int) -> sj.SMDP:
    """Three machines that wear out: let them run, or renew one of them, which takes a while."""
    wear, at = grid(levels, levels, levels)
    pairs, states, last = Pairs(levels**3), np.arange(levels**3), levels - 1
    rates = (1.0, 0.8, 0.6)
    earned = sum(10.0 * (1.0 - (w / last) ** 2) - 30.0 * (w == last) for w in wear)

    def worn(at_machine: int) -> Any:
        return at(*(np.minimum(w + (n == at_machine), last) for n, w in enumerate(wear)))

    total = sum(rates)
    pairs.add(states, [(worn(n), rate) for n, rate in enumerate(rates)], earned / total, 1.0 / total)
    for renewed in range(3):
        fresh = at(*(np.where(n == renewed, 0, w) for n, w in enumerate(wear)))
        chosen = np.flatnonzero(wear[renewed] > 0)
        others = [
            (at(*(0 * w if n == renewed else np.minimum(w + (n == m), last) for n, w in enumerate(wear)))[chosen], rates[m])
            for m in range(3)
            if m != renewed
        ]  # fmt: skip
        lost = earned - 10.0 * (1.0 - (wear[renewed] / last) ** 2) - 25.0
        pairs.add(chosen, [(fresh[chosen], 2.0), *others], (lost / 3.0)[chosen], 1.0 / 3.0)
    return pairs.model()


def ring(size: int) -> sj.SMDP:
    """A ring on which one walks either way: drift to one side or to the other, or at less cost without a drift."""
    states = np.arange(size)
    pairs = Pairs(size)
    pay = np.cos(2.0 * np.pi * states / size) + 0.5 * np.cos(6.0 * np.pi * states / size + 1.0)
    for right, cost in ((0.5, 0.0), (0.5005, 0.001), (0.4995, 0.001)):
        pairs.add(states, [((states + 1) % size, right), ((states - 1) % size, 1.0 - right)], pay - cost)
    return pairs.model()


def selfish_mining(longest: int, power: float = 0.35, followed: float = 0.0) -> sj.SMDP:
    """Selfish mining (Sapirshtein, Sompolinsky and Zohar 2016): own settled blocks per settled block.

    A state is (own branch, public branch, fork), the fork irrelevant, relevant or active. The duration of a step is the
    number of blocks that it settles, so most steps take no time. Only states that can be reached are kept.
    """
    size = longest + 1
    (own, public, fork), at = grid(size, size, 3)
    mine, theirs = power, 1.0 - power
    actions: list[tuple[Any, list[Move], Any, Any]] = []
    everywhere = np.arange(3 * size * size)
    start, other = at(1, 0, 0), at(0, 1, 0)
    settles = everywhere[public > 0]
    actions.append((settles, [(start, mine), (other, theirs)], 0.0, public[settles]))
    ahead = everywhere[own > public]
    a, h = own[ahead], public[ahead]
    actions.append((ahead, [(at(a - h, 0, 0), mine), (at(a - h - 1, 1, 1), theirs)], h + 1.0, h + 1.0))
    room = (own < longest) & (public < longest)
    waits = everywhere[room & (fork < 2)]
    a, h = own[waits], public[waits]
    actions.append((waits, [(at(a + 1, h, 0), mine), (at(a, h + 1, 1), theirs)], 0.0, 0.0))
    matches = everywhere[room & (fork > 0) & (own >= public) & (public > 0)]
    a, h = own[matches], public[matches]
    moves = [
        (at(a + 1, h, 2), mine), (at(a - h, 1, 1), followed * theirs), (at(a, h + 1, 1), (1.0 - followed) * theirs)
    ]  # fmt: skip
    won = followed * theirs * h
    actions.append((matches, moves, won, won))
    graph = sparse.coo_array(
        (
            np.ones(sum(len(states) * len(moves) for states, moves, _, _ in actions)),
            (
                np.concatenate([states for states, moves, _, _ in actions for _ in moves]),
                np.concatenate([np.broadcast_to(to, len(s)) for s, moves, _, _ in actions for to, _ in moves]),
            ),
        ),
        shape=(len(everywhere),) * 2,
    ).tocsr()  # fmt: skip
    reached = np.sort(sparse.csgraph.breadth_first_order(graph, int(start), return_predecessors=False))
    number = np.full(len(everywhere), -1)
    number[reached] = np.arange(len(reached))
    pairs = Pairs(len(reached))
    for states, moves, reward, duration in actions:
        kept = number[states] >= 0
        pairs.add(
            number[states[kept]],
            [(number[np.broadcast_to(to, len(states))[kept]], rate) for to, rate in moves],
            np.broadcast_to(reward, len(states))[kept],
            np.broadcast_to(duration, len(states))[kept],
        )
    return pairs.model()


def random_model(num_states: int, seed: int = 0) -> sj.SMDP:
    """A random model of 5 actions and 8 successors, every step of duration 1."""
    rng, pairs = np.random.default_rng(seed), 5 * num_states
    probability = rng.random((pairs, 8))
    return sj.SMDP(
        pair_offsets=np.arange(num_states + 1) * 5,
        row_offsets=np.arange(pairs + 1) * 8,
        successor=rng.integers(0, num_states, pairs * 8, dtype=np.int32),
        probability=(probability / probability.sum(axis=1, keepdims=True)).ravel(),
        reward=rng.random(pairs),
        duration=np.ones(pairs),
    )


STRUCTURES: dict[str, tuple[Callable[..., sj.SMDP], dict[str, Any], tuple[int, int, int]]] = {
    "two queues, load .65": (two_queues, {"load": 0.65}, (61, 301, 1001)),
    "two queues, load .98": (two_queues, {"load": 0.98}, (61, 301, 1001)),
    "two queues, load 1.2": (two_queues, {"load": 1.2}, (61, 301, 1001)),
    "three queues in a row": (tandem, {}, (13, 31, 100)),
    "polling": (polling, {}, (41, 151, 501)),
    "(s, S) inventory": (inventory, {}, (600, 10_000, 20_000)),
    "three machines": (machines, {}, (13, 31, 100)),
    "ring": (ring, {}, (2001, 10_001, 100_001)),
    "selfish mining, .35": (selfish_mining, {"power": 0.35}, (20, 75, 150)),
    "selfish mining, .45": (selfish_mining, {"power": 0.45}, (20, 75, 150)),
    "two job classes, load .7": (job_classes, {"load": 0.7}, (51, 101, 1001)),
    "two job classes, load .95": (job_classes, {"load": 0.95}, (51, 101, 1001)),
    "two job classes, large": (job_classes, {"load": 0.95}, (71, 301, 1001)),
    "random": (random_model, {}, (5000, 50_000, 1_000_000)),
}
SIZES = ("small", "medium", "large")
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


# --- The methods ------------------------------------------------------------------------------------------------------


def plain_policy_iteration(model: sj.SMDP, max_iterations: int = 500) -> tuple[float, Any]:
    """Return the gain and the policy's pairs, by policy iteration as a textbook has it, with SuperLU's defaults.

    Every policy met on the way must have one recurrent class. The gain takes the place of the first state's bias.
    """
    n, first = model.num_states, model.pair_offsets[:-1]
    state = model.state_of_pair()
    law = sparse.csr_array(
        (model.probability, model.successor, model.row_offsets), shape=(model.num_pairs, n)
    )
    eye, pairs = sparse.eye_array(n, format="csr"), np.asarray(first)
    for _ in range(max_iterations):
        system = (eye - law[pairs]).tocsc()
        column = sparse.csc_array(model.duration[pairs][:, None])
        bias = linalg.splu(sparse.hstack([column, system[:, 1:]], format="csc")).solve(model.reward[pairs])
        gain, bias[0] = float(bias[0]), 0.0
        surplus = model.reward - gain * model.duration + (law @ bias - bias[state])
        best = np.maximum.reduceat(surplus, first)
        better = best > surplus[pairs] + 1e-11 * np.abs(bias).max()
        if not better.any():
            return gain, pairs
        at = np.flatnonzero(surplus == best[state])
        choice = at[np.unique(state[at], return_index=True)[1]]
        pairs = np.where(better, choice, pairs)
    raise ArithmeticError(f"the policy still changes after {max_iterations} iterations")


def by_mdpsolver(model: sj.SMDP) -> float:
    """Return the gain by mdpsolver, modified policy iteration to 1e-6, in one thread."""
    import mdpsolver

    if (model.duration != 1.0).any():
        raise ValueError("steps of other lengths than 1")
    rewards: Any = [[] for _ in range(model.num_states)]
    laws: Any = [[] for _ in range(model.num_states)]
    columns: Any = [[] for _ in range(model.num_states)]
    for pair, state in enumerate(model.state_of_pair().tolist()):
        rows = slice(model.row_offsets[pair], model.row_offsets[pair + 1])
        rewards[state].append(float(model.reward[pair]))
        laws[state].append(model.probability[rows].tolist())
        columns[state].append(model.successor[rows].tolist())
    other = mdpsolver.model()
    other.mdp(rewards=rewards, tranMatProbs=laws, tranMatColumns=columns)
    began = time.process_time()
    other.solve(algorithm="mpi", criterion="average", tolerance=1e-6, parallel=False)
    by_mdpsolver.seconds = time.process_time() - began  # type: ignore[attr-defined]
    values = np.array(other.getValueVector())
    ahead = np.add.reduceat(model.probability * values[model.successor], model.row_offsets[:-1])
    step = np.maximum.reduceat(model.reward + ahead - values[model.state_of_pair()], model.pair_offsets[:-1])
    return float((step.min() + step.max()) / 2.0)


METHODS: dict[str, Callable[[sj.SMDP, float], Any]] = {
    "solve": sj.solve,
    "plain": lambda model, _: plain_policy_iteration(model),
    "policy iteration": lambda model, _: sj.exact.policy_iteration(model),
    "modified": lambda model, tolerance: sj.exact.modified_policy_iteration(
        model, tolerance, max_sweeps=10_000_000
    ),
    "value iteration": lambda model, tolerance: sj.exact.value_iteration(
        model, tolerance, max_sweeps=10_000_000
    ),
    "mdpsolver": lambda model, _: by_mdpsolver(model),
}


def measure(name: str, size: int, method: str, tolerance: float, limit: float, results: Any) -> None:
    """Build and solve one model, and put into `results` how that went."""
    resource.setrlimit(resource.RLIMIT_AS, (12 * 2**30,) * 2)
    make, options, _ = STRUCTURES[name]
    run = METHODS[method]
    began = time.process_time()
    model = make(size, **options)
    building, began = time.process_time() - began, time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + limit) + 1,) * 2)
    try:
        found = run(model, tolerance)
    except (ValueError, ArithmeticError, RuntimeError, MemoryError) as error:
        results.put({"states": model.num_states, "build": building, "error": str(error)})
        return
    seconds = time.process_time() - began
    if method == "mdpsolver":  # without turning arrays into lists
        seconds = by_mdpsolver.seconds  # type: ignore[attr-defined]
    gain = found if isinstance(found, float) else found[0] if isinstance(found, tuple) else found.gain
    apart = found.upper - found.lower if isinstance(found, sj.exact.Solution) else None
    results.put(
        {
            "states": model.num_states, "build": building, "seconds": seconds, "gain": gain, "apart": apart,
            "solver": getattr(found, "solver", method), "iterations": getattr(found, "iterations", None),
        }
    )  # fmt: skip


def measured(name: str, size: int, method: str, tolerance: float, limit: float) -> dict[str, Any]:
    """Do the same in a process of its own, and stop it after `limit` CPU seconds."""
    context = multiprocessing.get_context("fork")  # with everything compiled
    results = context.SimpleQueue()
    process = context.Process(target=measure, args=(name, size, method, tolerance, limit, results))
    process.start()
    process.join()
    return results.get() if not results.empty() else {"error": f"stopped after {limit:g} s"}


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--only", default="", help="structures whose names contain this")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--tolerance", type=float, default=1e-8)
    parser.add_argument("--limit", type=float, default=10.0, help="CPU seconds for one method")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    methods = options.methods.split(",")
    if any(os.environ.get(name) != "1" for name in THREADS):  # BLAS reads them when it is loaded
        os.environ.update(dict.fromkeys(THREADS, "1"))
        os.execv(sys.executable, [sys.executable, *sys.argv])
    for method, model in itertools.product(
        methods, (two_queues(20, 0.9), selfish_mining(20), job_classes(20))
    ):
        with contextlib.suppress(ValueError, ArithmeticError):  # not every method solves each of them
            METHODS[method](model, options.tolerance)
    table = Table(title=f"CPU seconds, tolerance {options.tolerance:g}")
    for heading in ("", "states", *methods, "gain known to", "solve / best"):
        table.add_column(heading, justify="left" if not heading else "right")
    everything: dict[str, Any] = {}
    console = Console(width=150)
    for name, (_, _, sizes) in STRUCTURES.items():
        if options.only not in name:
            continue
        size = sizes[SIZES.index(options.size)]
        found = {m: measured(name, size, m, options.tolerance, options.limit) for m in methods}
        everything[name] = found
        cells = [f"{found[m]['seconds']:.2f}" if "seconds" in found[m] else "-" for m in methods]
        others = [found[m]["seconds"] for m in methods if m != "solve" and "seconds" in found[m]]
        own = found.get("solve", {})
        ratio = f"{own['seconds'] / min(others):.2f}" if "seconds" in own and others else ""
        states = max((one.get("states", 0) for one in found.values()), default=0)
        apart = f"{own['apart']:.0e}" if own.get("apart") is not None else ""
        table.add_row(name, f"{states:,}", *cells, apart, ratio)
    console.print(table)
    if options.json:
        options.json.write_text(json.dumps(everything, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
