"""Models explored from a function of the state, against the same models listed by hand."""

from __future__ import annotations

import math
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from typer.testing import CliRunner

import sojourn as sj
from sojourn.cli.commands import app
from sojourn.models import explore, from_dict, from_rates, from_transitions, load_model, save_model


class Queues(NamedTuple):
    first: int
    second: int


@dataclass(frozen=True)
class Job:
    size: int


def two_queues(state: Any) -> dict[str, Any]:
    """Two queues and one server, with room for four jobs each; it may serve either."""
    i, j = state
    come = [((min(i + 1, 4), j), 0.4), ((i, min(j + 1, 4)), 0.3)]
    return {
        which: {"rates": [*come, (done, rate)], "earning": -2.0 * i - j, "flows": {"second": j}}
        for which, done, rate in [("first", (i - 1, j), 1.0 * (i > 0)), ("second", (i, j - 1), 0.8 * (j > 0))]
    }


def same(one: sj.SMDP, other: sj.SMDP) -> None:
    """Compare two models in all that they have."""
    assert list(one.labels) == list(other.labels)
    assert list(one.action_labels) == list(other.action_labels)
    for name in ("pair_offsets", "row_offsets", "successor", "action"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist()
    for name in ("probability", "reward", "duration"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-14)
    assert set(one.amounts) == set(other.amounts)
    for name in one.amounts:
        assert one.amount(name) == pytest.approx(other.amount(name), rel=1e-14, abs=1e-300)
    for mine, its in zip(one.flat_laws()[:2], other.flat_laws()[:2], strict=True):
        assert mine.kind.tolist() == its.kind.tolist()
        assert mine.parameters == pytest.approx(its.parameters, rel=1e-14)


def test_two_queues_are_those_of_a_list_of_rates() -> None:
    """Explored from (0, 0), they are the model that is listed, and the policy is read by tuples: 2 x 1 goes before 1 x .8."""
    model = explore((0, 0), two_queues)
    rows: list[Any] = []
    earning: dict[Any, float] = {}
    flow: dict[Any, float] = {}
    for state in model.labels:
        for action, pair in two_queues(state).items():
            rows += [(state, action, to, rate) for to, rate in pair["rates"] if rate > 0.0]
            earning[state, action], flow[state, action] = pair["earning"], float(pair["flows"]["second"])
    listed = from_rates(
        rows,
        earning=earning,
        flows={"second": flow},
        state_names=model.labels,
        action_names=("first", "second"),
    )
    same(model, listed)
    best = sj.solve(model)
    assert all(best.policy[i, j] == "first" for i in range(1, 5) for j in range(5))
    assert all(best.policy[0, j] == "second" for j in range(1, 5))
    # The first kind, which always goes first, has a queue of its own, M/M/1 with room for four.
    share = 0.4 ** np.arange(5) / (0.4 ** np.arange(5)).sum()
    shares = dict(zip(model.labels, sj.evaluate(model, best.policy).time_shares, strict=True))
    for i in range(5):
        assert sum(shares[i, j] for j in range(5)) == pytest.approx(share[i], rel=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_any_form_of_pair_is_read_as_from_a_list(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random models whose pairs have probabilities, one next state, outcomes, laws, samples, rates or moves; in small parts."""
    monkeypatch.setattr(sys.modules["sojourn.models.explore"], "_ROWS", 1 + seed % 7)
    rng = random.Random(seed)
    states = [("s", number) for number in range(8)]
    table: dict[Any, dict[Any, Any]] = {}
    rows: list[Any] = []
    for place, state in enumerate(states):
        table[state] = {}
        for action in range(1 + rng.randrange(3)):
            chosen = {states[(place + 1) % 8], *rng.sample(states, rng.randrange(1, 4))}
            to = sorted(chosen, key=states.index)
            weights = [rng.randint(1, 9) for _ in to]
            chances = [weight / sum(weights) for weight in weights]
            reward, duration = (
                rng.choice([3.0, -1, sj.laws.Exponential(2.0)]),
                rng.choice([2, 0.5, sj.laws.Uniform(1.0, 2.0)]),
            )
            kind = rng.randrange(6)
            extra = {"lost": rng.random()} if rng.random() < 0.5 else {}
            if kind == 0:
                table[state][action] = {
                    "reward": reward,
                    "duration": duration,
                    "next": dict(zip(to, chances, strict=True))
                    if seed % 2
                    else [*zip(to, chances, strict=True)],
                    "amounts": extra,
                }
                rows += [
                    (state, action, each, chance, reward, duration, extra)
                    for each, chance in zip(to, chances, strict=True)
                ]
            elif kind == 1:
                table[state][action] = {
                    "reward": reward,
                    "duration": duration,
                    "next": states[(place + 1) % 8],
                }
                rows.append((state, action, states[(place + 1) % 8], 1.0, reward, duration))
            elif kind == 2:
                table[state][action] = {
                    "reward": 1.0,
                    "outcomes": [
                        {"next": each, "probability": chance, "duration": weight, "amounts": extra}
                        for each, chance, weight in zip(to, chances, weights, strict=True)
                    ],
                }
                rows += [
                    (state, action, each, chance, 1.0, weight, extra)
                    for each, chance, weight in zip(to, chances, weights, strict=True)
                ]
            elif kind == 3:
                samples = sj.laws.Empirical([1.0, 4.0, 4.0])
                table[state][action] = {
                    "reward": 1.0,
                    "duration": samples,
                    "next": {to[0]: 1.0, ("never", 0): 0.0},
                }
                rows.append((state, action, to[0], 1.0, 1.0, samples))
            else:
                total, earning = float(sum(weights)), rng.choice([5.0, 0.0])
                moves: Any = dict(zip(to, weights, strict=True)) | {("never", 1): 0.0}
                lump = 0.0
                if kind == 5:
                    lump, with_moves = 2.0, rng.random() < 0.5
                    moves = [
                        (each, weight, lump, {"lost": 3.0}) if with_moves else (each, weight, lump)
                        for each, weight in zip(to, weights, strict=True)
                    ]
                    extra = {"lost": 3.0 * with_moves + 0.5 / total}
                    flows = {"lost": 0.5}
                else:
                    flows, extra = {"lost": 0.25}, {"lost": 0.25 / total}
                table[state][action] = {"rates": moves, "earning": earning, "flows": flows}
                rows += [
                    (
                        state,
                        action,
                        each,
                        weight / total,
                        lump + earning / total,
                        sj.laws.Exponential(1.0 / total),
                        extra,
                    )
                    for each, weight in zip(to, weights, strict=True)
                ]
    model = explore(states[0], table.__getitem__)
    rows = [row for row in rows if row[0] in set(model.labels)]  # it may not reach all
    actions = list(dict.fromkeys(row[1] for state in model.labels for row in rows if row[0] == state))
    same(model, from_transitions(rows, state_names=model.labels, action_names=actions))
    kept = {state: choices for state, choices in table.items() if state in set(model.labels)}
    if not any(
        ("never", 0) in pair.get("next", ()) for choices in table.values() for pair in choices.values()
    ):
        in_order = from_dict(kept)
        assert set(in_order.labels) == set(model.labels)
        assert sj.solve(in_order).gains[in_order.state_number(states[0])] == pytest.approx(
            sj.solve(model).gains[0], rel=1e-12
        )


@pytest.mark.parametrize(
    "states",
    [
        ["off", "on"],
        [7, 3],
        [(0, "x"), (1, "y")],
        [Queues(0, 1), Queues(1, 0)],
        [Job(1), Job(2)],
        [frozenset(), frozenset({1})],
    ],
)
def test_states_come_back_as_themselves(states: list[Any]) -> None:
    """Names, numbers, tuples, named tuples, frozen dataclasses and sets: in labels, in policies, and as the keys of policies."""

    def moves(state: Any) -> dict[Any, Any]:
        after = states[1 - states.index(state)]
        return {
            ("go", pay): {"reward": pay, "duration": 1.0, "next": {after: 1.0}}
            for pay in (1.0, states.index(state) + 1.0)
        }

    model = explore(states[0], moves)
    assert list(model.labels) == states
    assert [type(label) for label in model.labels] == [type(state) for state in states]
    best = sj.solve(model)
    assert best.gain == 1.5
    assert best.policy[states[1]] == ("go", 2.0)
    assert sj.evaluate(model, {states[0]: ("go", 1.0), states[1]: ("go", 1.0)}).gain == 1.0
    assert str(states[1]) in repr(best)


@pytest.mark.parametrize(
    "make",
    [
        lambda pair: explore(0, lambda _: {"go": pair}),
        lambda pair: sj.models.from_dict({0: {"go": pair}, 1: {"go": pair}}),
    ],
)
def test_two_moves_to_the_same_state_add_up(make: Any) -> None:
    """In a list of next states one may come twice, where a dictionary would lose the first; explored or listed."""
    model = make({"reward": 1.0, "duration": 2.0, "next": [(1, 0.25), (0, 0.5), (1, 0.25)]})
    first = model.successor[: model.row_offsets[1]]
    chances = np.bincount(first, model.probability[: len(first)])
    assert (model.labels[0], chances.tolist()) == (0, [0.5, 0.5])


def test_a_list_has_several_starts_and_zeros_are_not_followed() -> None:
    """Both starts come first; a state that is reached with the rate or the probability 0 only is no state of the model."""

    def moves(state: int) -> dict[str, Any]:
        return {
            "go": {"rates": {state // 2: 1.0, state + 1: 0.0}},
            "stay": {"reward": 0, "duration": 1, "next": {state: 1, -1: 0}},
        }

    assert explore([8, 5], moves).labels == (8, 5, 4, 2, 1, 0)
    assert explore(1, moves, most_states=2).num_states == 2


GOOD = {"reward": 1.0, "duration": 1.0, "next": 0}


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        ({"serve": {**GOOD, "next": {0: 0.5}}}, r"the probabilities of state \(3, 1\), action 'serve' sum to 0.5; they must sum to 1 within 1e-08; of equal keys a dictionary keeps the last, so list two moves"),
        ({"serve": {**GOOD, "next": [(0, 0.5)]}}, r"the probabilities of state \(3, 1\), action 'serve' sum to 0.5; they must sum to 1 within 1e-08$"),
        ({"serve": {**GOOD, "next": [(0, 1.0, 2.0)]}}, r"next of state .3, 1., action 'serve' is \[\(0, 1.0, 2.0\)\]; it must be a table of probabilities, such as . a = 1.0 ., or a list of \(state, probability\)"),
        ({"serve": {**GOOD, "next": {0: math.nan}}}, "probability of state .3, 1., action 'serve' is nan; it must be a finite"),
        ({"serve": {**GOOD, "next": {0: 2.0, 1: -1.0}}}, "probability"),
        ({"serve": {**GOOD, "reward": math.inf}}, "the reward of state .3, 1., action 'serve' is inf"),
        ({"serve": {**GOOD, "reward": "x"}}, "reward of state .3, 1., action 'serve' is 'x'; it must be a number"),
        ({"serve": {**GOOD, "amounts": {"lost": "x"}}}, "the amount 'lost' of state .3, 1., action 'serve' is 'x'"),
        ({"serve": {**GOOD, "amounts": {"lost": math.nan}}}, "the amount 'lost' of state .3, 1., action 'serve' is nan"),
        ({"serve": {**GOOD, "amount": 3}}, "state .3, 1., action 'serve' has the key 'amount'; the keys are"),
        ({"serve": {**GOOD, "rates": {0: 1.0}}}, "state .3, 1., action 'serve' has duration beside rates; with rates there are only earning and flows"),
        ({"serve": {"reward": 1.0, "duration": 1.0}}, "state .3, 1., action 'serve' must have either next or outcomes, or rates"),
        ({"serve": {"rates": {}}}, "the rates of state .3, 1., action 'serve' sum to 0; there must be one above 0"),
        ({"serve": {"rates": {0: -1.0}}}, "the rate to 0 of state .3, 1., action 'serve' is -1.0; it must be finite and at least 0"),
        ({"serve": {"rates": {0: math.inf}}}, "the rate to 0 of state .3, 1., action 'serve' is inf"),
        ({"serve": {"rates": {0: "x"}}}, "the rate to 0 of state .3, 1., action 'serve' is 'x'"),
        ({"serve": {"rates": {0: 1.0}, "earning": math.nan}}, "the reward of state .3, 1., action 'serve' is nan"),
        ({"serve": {"rates": {0: 1.0}, "flows": {"lost": None}}}, "the flow 'lost' of state .3, 1., action 'serve' is None"),
        ({"serve": {"rates": [(0,)]}}, r"a move of state .3, 1., action 'serve' is \(0,\); it must be \(state, rate\)"),
        ({"serve": {"rates": [([0], 1.0)]}}, r"state .3, 1., action 'serve' leads to \[0\]; a state must be a number, a name, a tuple"),
        ({"serve": {"rates": 3}}, "the rates of state .3, 1., action 'serve' are 3"),
        ({"serve": 3}, "state .3, 1., action 'serve' is 3; it must be a table"),
        ({}, "state .3, 1. has no action; give it at least one"),
        (3, "moves returns 3 for state .3, 1.; it must be a dictionary of actions"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_state_and_action(choices: Any, sentence: str) -> None:
    """One sentence names the state and the action in the words of the person who made them."""

    def moves(state: Any) -> Any:
        return (
            {"come": {"reward": 0.0, "duration": 1.0, "next": {(3, 1): 1.0}}} if state == (0, 0) else choices
        )

    with pytest.raises((TypeError, ValueError), match=sentence):
        explore((0, 0), moves)


def test_an_error_of_the_function_names_the_state() -> None:
    """The user's own error is there, with the state that it happened in."""
    with pytest.raises(ValueError, match=r"moves fails for state \(3, 1\) \(KeyError: 5\)") as found:
        explore((3, 1), lambda _: dict[Any, Any]()[5])
    assert isinstance(found.value.__cause__, KeyError)
    with pytest.raises(TypeError, match=r"the start is \{\}; a state must be a number, a name, a tuple"):
        explore({}, two_queues)
    with pytest.raises(TypeError, match="moves is 3; give a function"):
        explore(0, 3)  # type: ignore[arg-type] # a mistake


def test_too_many_states_are_a_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A queue without an end says what was reached and what to do; progress is told while it goes on."""
    monkeypatch.setattr(sys.modules["sojourn.models.explore"], "_SECONDS", 0.0)
    sentence = "moves leads from 0 to more than 5,000 states, such as 5000; keep the states within bounds"
    with pytest.raises(ValueError, match=sentence):
        explore(0, lambda n: {"go": {"rates": {n + 1: 1.0}}}, most_states=5_000, progress=True)
    assert "explore: 4,097 states, 1 more seen, " in capsys.readouterr().err


# --- Files and commands -------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".toml", ".json"])
def test_a_file_keeps_tuples_and_numbers(suffix: str, tmp_path: Path) -> None:
    """States that are tuples, numbers or names are the same after writing and reading, and so is all the rest."""
    path = tmp_path / f"queues{suffix}"
    for model in (
        explore((0, 0), two_queues),
        explore(5, lambda n: {True: {"reward": n, "duration": 1.5, "next": {max(n - 2, 0): 0.5, 5: 0.5}}}),
        explore(("a", (1, 2.5)), lambda s: {(0, "x"): {"reward": 1, "duration": 1, "next": s}}),
    ):
        save_model(model, path)
        same(load_model(path), model)
    save_model(explore((0, 0), two_queues), path)
    assert sj.solve(load_model(path)).policy[3, 1] == "first"
    assert sj.solve(load_model(path)).policy[Queues(3, 1)] == "first"  # equal to the tuple


def test_a_file_says_what_it_cannot_keep(tmp_path: Path) -> None:
    """A dataclass becomes its text, with a warning that says so; a named tuple becomes a tuple, which is equal to it."""
    path = tmp_path / "jobs.json"
    with pytest.warns(
        RuntimeWarning,
        match=r"the file has the states as texts, because it cannot hold values such as Job\(size=2\)",
    ):
        save_model(explore(Job(2), lambda job: {"go": {"reward": 1, "duration": 1, "next": job}}), path)
    assert load_model(path).labels == ("Job(size=2)",)
    save_model(explore(Queues(0, 1), lambda job: {"go": {"reward": 1, "duration": 1, "next": job}}), path)
    assert load_model(path).labels == ((0, 1),) == (Queues(0, 1),)


def test_a_file_may_have_rates(tmp_path: Path) -> None:
    """What a machine earns while it is up, and what its repair costs: 47 in a time of 11, as from_rates has it."""
    path = tmp_path / "machine.toml"
    path.write_text(
        'states = ["up", "down"]\nactions = ["go"]\n'
        '[[pairs]]\nstate = "up"\naction = "go"\nrates = { down = 0.1 }\nearning = 5.0\n'
        '[[pairs]]\nstate = "down"\naction = "go"\nrates = [["up", 1.0, -3.0, { mended = 1.0 }]]\n'
    )
    model = load_model(path)
    assert sj.solve(model).gain == pytest.approx(47 / 11, rel=1e-14)
    assert model.amount("mended").tolist() == [0.0, 1.0]


PROGRAM = """
import sojourn as sj


def moves(state, arrivals: float = 1.0):
    i, _ = state
    wait = {"rates": {(min(i + 1, 3), 0): arrivals, (i - 1, 0): 2.0 * (i > 0)}, "earning": 5.0 * (i > 0)}
    return {"wait": wait}


model = sj.models.explore((0, 0), moves)
numbers = [1, 2]
"""


def test_commands_take_a_model_a_function_that_makes_it_and_one_of_a_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that is busy for 7 of 15 parts of the time earns 5 x 7 / 15, or 5 x 14/15 if more jobs come."""
    monkeypatch.chdir(tmp_path)
    Path("my_queues.py").write_text(PROGRAM)

    def said(*words: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, list(words))
        return result.exit_code, result.output if result.exit_code == 0 else str(result.exception)

    assert f"gain {5 * 7 / 15:.10g}" in said("solve", "my_queues:model")[1]
    start = ("-o", "start=[0, 0]")
    assert f"gain {5 * 7 / 15:.10g}" in said("solve", "my_queues:moves", *start)[1]
    assert f"gain {5 * 14 / 15:.10g}" in said("solve", "my_queues:moves", *start, "-o", "arrivals=4.0")[1]
    assert said("audit", "my_queues:model")[0] == 0
    for words, sentence in (
        (("solve", "my_queues:moves"), "takes state; if it says how a state moves, say where to begin"),
        (("solve", "my_queues:model", *start), "is a model, which takes no options"),
        (("solve", "my_queues:moves", *start, "-o", "most_states=2"), "to more than 2 states"),
        (("solve", "my_queues:moves", *start, "-o", "arrival=2"), "did you mean 'arrivals'?"),
        (("solve", "my_queues:numbers"), "must be a function or a class"),
    ):
        code, sentence_said = said(*words)
        assert code != 0
        assert sentence in sentence_said


@pytest.mark.evidence
def test_exploring_takes_at_most_5_microseconds_a_row() -> None:
    """Beyond what the function itself takes: 1.2 million rates of two queues, in CPU time."""
    side = 450

    def moves(state: tuple[int, int]) -> dict[int, Any]:
        i, j = state
        rates = {(min(i + 1, side), j): 0.4, (i, min(j + 1, side)): 0.3}
        return {
            0: {"rates": {**rates, (max(i - 1, 0), j): 1.0}},
            1: {"rates": {**rates, (i, max(j - 1, 0)): 0.8}},
        }

    began = time.process_time()
    model = explore((0, 0), moves)
    took = time.process_time() - began
    began = time.process_time()
    for state in model.labels:
        moves(state)  # type: ignore[arg-type] # its states are pairs
    took -= time.process_time() - began
    assert model.num_rows / took > 200_000
