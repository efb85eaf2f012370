from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import log_cells
import sojourn as sj
from asking import ask
from log_samples import as_log, behaviours, drawn, log_of, machine, models, tried, true_gain
from small_envs import sentence
from sojourn.answers.log import answered, carrying, lines, picture
from sojourn.answers.page import write_report
from sojourn.answers.solution import lines as solution_lines
from sojourn.answers.solution import solve_named
from sojourn.deploy.tables import LabelPolicy
from sojourn.exact.logs import fit as fits
from sojourn.exact.logs.fit import LogRows, ahead, fitted, padded, spread, worth
from sojourn.exact.logs.improve import candidates, chosen, compared, lower_limit, standard_error
from sojourn.exact.logs.log_reader import read_earnings
from sojourn.report.blocks import Charts
from sojourn.report.charts import Heatmap, Regions

DOCS = Path(__file__).parents[2] / "docs"

SMALL: dict[str, list[Any]] = {
    "state": ["a", "b", "a", "b", "a", "a"],
    "action": ["x", "x", "y", "x", "x", "x"],
    "reward": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    "duration": [1.0, 2.0, 1.0, 2.0, 1.0, 1.0],
    "next_state": ["b", "a", "b", "a", "a", "b"],
}


class Frame:
    """What pandas has, as far as a log needs it."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self._columns = columns

    @property
    def columns(self) -> list[str]:
        return list(self._columns)

    def __getitem__(self, name: str) -> Any:
        class Series:
            def tolist(inner) -> list[Any]:  # noqa: N805 - self is the frame
                return self._columns[name]

        return Series()


# --- Reading --------------------------------------------------------------------------------


def test_every_source_gives_the_same_log(tmp_path: Path) -> None:
    """CSV, Parquet, polars, what looks like pandas, and columns by name."""
    table = pl.DataFrame(SMALL)
    table.write_csv(tmp_path / "log.csv")
    table.write_parquet(tmp_path / "log.parquet")
    sources = [tmp_path / "log.csv", str(tmp_path / "log.parquet"), table, table.lazy(), Frame(SMALL), SMALL]
    for source in sources:
        log = sj.read_log(source)
        assert (log.states, log.actions, len(log)) == (("a", "b"), ("x", "y"), 6)
        assert log.counts() == {"a": {"x": 3, "y": 1}, "b": {"x": 2}}
        assert log.behaviour.observed == 21.0 / 8.0
        assert log.behaviour.rate == pytest.approx(2.4, rel=1e-5)  # 5/7 of the visits to a, by hand
        assert log.refused == log.findings == ()


class Missing:
    """What pandas has where nothing is known: it cannot be compared."""

    def __ne__(self, other: object) -> Any:
        return self

    def __bool__(self) -> bool:
        raise TypeError("ambiguous")

    __hash__ = None  # type: ignore[assignment]


def test_what_pandas_does_not_know_is_missing() -> None:
    """In labels as in numbers."""
    nothing = Missing()
    log = sj.read_log(
        Frame(SMALL | {"reward": [1.0, nothing, 3.0, 4.0, 5.0, 6.0], "action": ["x"] * 5 + [nothing]})
    )
    assert log.refused == ("1 row has no action (row 6)", "1 row has no reward (row 2)")


def test_other_names_and_several_columns() -> None:
    """Labels are tuples where several columns are named, and of any kind; a name that is not there is told."""
    columns: dict[str, list[Any]] = {"n": [0, 1] * 4, "day": ["mo", "tu"] * 4, "do": [True, False] * 4}
    log = sj.read_log(
        columns | {"pay": [1] * 8, "t": [2] * 8}, state=["n", "day"], action="do", reward="pay", duration="t"
    )
    assert log.states == ((0, "mo"), (1, "tu"))
    assert log.actions == (False, True)
    assert log.model().state_names == ("0, mo", "1, tu")
    assert log.improve().policy == {(0, "mo"): True, (1, "tu"): False}
    mixed = sj.read_log(SMALL | {"state": [1, "b"] * 3, "next_state": ["b", 1] * 3})
    assert mixed.states == (1, "b")  # no order: as they come
    told = sentence(lambda: sj.read_log(SMALL, state="stat"), ValueError)
    assert told == "the log has no column 'stat' for the state; did you mean 'state'?"


def test_rows_that_cannot_be_used_are_counted_and_explained() -> None:
    """Each is refused for its first fault, by its number, counted from 1; the others make the log."""
    bad = {
        "state": ["a", None, "a", "a", "a", "a", "a", "a", "a", math.nan],
        "action": ["x", "x", "", "x", "x", "x", None, "x", "x", "x"],
        "reward": [1.0, 1.0, 1.0, "much", None, math.inf, 1.0, 1.0, 1.0, 1.0],
        "duration": [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -2.0, -1.0, 1.0],
        "next_state": ["a"] * 10,
    }
    log = sj.read_log(bad)
    assert log.refused == (
        "2 rows have no state (rows 2, 10)",
        "1 row has no action (row 7)",
        "1 row has a text where the reward belongs (row 4)",
        "1 row has no reward (row 5)",
        "1 row has an infinite reward (row 6)",
        "2 rows have a negative duration (rows 8, 9)",
    )
    assert repr(log) == "Log(2 rows, 1 state, 2 actions; 8 refused)"
    many = sj.read_log(SMALL | {"duration": [1.0, -1.0, -1.0, -1.0, 1.0, 1.0], "reward": ["1"] * 6})
    assert many.refused == ("3 rows have a negative duration (rows 2, 3, 4)",)
    assert many.behaviour.rate == 1.0  # texts of numbers are numbers


def test_a_csv_with_a_text_among_numbers(tmp_path: Path) -> None:
    """One wrong entry does not spoil its column; an empty one is missing."""
    rows = [
        "state,action,reward,duration,next_state",
        "a,x,1,1,a",
        "a,x,?,1,a",
        "a,x,,1,a",
        "a,x,2.5,NaN,a",
        "a,x,3,1,a",
    ]
    file = tmp_path / "log.csv"
    file.write_text("\n".join(rows))
    log = sj.read_log(file)
    assert log.behaviour.rate == 2.0
    assert log.refused == (
        "1 row has a text where the reward belongs (row 2)",
        "1 row has no reward (row 3)",
        "1 row has no duration (row 4)",
    )


@pytest.mark.parametrize("mark", [";", "\t"])
def test_a_file_of_a_spreadsheet_with_decimal_commas(tmp_path: Path, mark: str) -> None:
    """Semicolons or tabs may stand between columns; then 2,5 is a number, also beside a text."""
    rows = [
        "state,action,reward,duration,next_state",
        "a,x,2;5,1;0,a",
        "a,x,?,1;5,a",
        "a,x,-1;5,3;5,a",
        "a,x,4,1;5,a",
    ]
    file = tmp_path / "log.csv"
    file.write_text("\n".join(row.replace(",", "|").replace(";", ",").replace("|", mark) for row in rows))
    log = sj.read_log(file)
    assert log.refused == ("1 row has a text where the reward belongs (row 2)",)
    assert log.behaviour.observed == log.behaviour.rate == (2.5 - 1.5 + 4.0) / (1.0 + 3.5 + 1.5)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("nowhere.csv", "nowhere.csv does not exist"),
        (3, "the log is 3; it must be a file, a frame, columns by name, or rows"),
        ([{"state": 0}, {"stat": 0}], "row 2 of the log has stat, but the first row has state"),
        ({name: [] for name in SMALL}, "the log has no rows"),
        (SMALL | {"reward": [1.0]}, "the columns of the log have 1, 6 rows"),
        (
            SMALL | {"reward": ["?"] * 6},
            "no row that can be used: 6 rows have a text where the reward belongs",
        ),
        (SMALL | {"duration": [0.0] * 6}, "no time passes in the log"),
        (
            SMALL | {"next_state": ["end"] * 6},
            "every row of the log leads sooner or later to a state that is never left",
        ),
        (SMALL | {"probability": [0.0] * 6}, "a probability that is not above 0 and at most 1"),
        (SMALL | {"state": [["a"]] * 6}, "labels must be texts, numbers or several columns"),
    ],
)
def test_what_is_no_log_gets_one_sentence(source: Any, words: str) -> None:
    """It says what is wrong."""
    assert words in sentence(lambda: sj.read_log(source), (TypeError, ValueError, OSError))


def test_the_next_row_tells_the_next_state() -> None:
    """Within a trajectory, in the order of its rows, however the trajectories are mixed; the last row of each is not used."""
    columns: dict[str, list[Any]] = {
        "trajectory": ["one", "two", "one", "two", "one", "two"],
        "state": ["a", "c", "b", "d", "a", "c"],
        "action": ["x"] * 6,
        "reward": [1.0, 10.0, 2.0, 20.0, 100.0, 100.0],
        "duration": [1.0] * 6,
    }
    log = sj.read_log(columns)
    assert len(log) == 4
    assert log.refused == ()
    assert log.behaviour.rate == 33.0 / 4.0
    model = log.model()
    assert model.state_names == ("a", "b", "c", "d")
    assert model.successor.tolist() == [1, 0, 3, 2]
    broken = sj.read_log(columns | {"state": ["a", "c", None, "d", "a", "c"]})
    assert broken.refused == ("1 row has no state (row 3)", "1 row has no next state (row 1)")


def test_a_trajectory_that_ends_goes_on_with_the_next() -> None:
    """A state that is never left leads to the next beginning, as in training; the very last row is left out, and told."""
    columns: dict[str, list[Any]] = {
        "trajectory": [1, 1, 2, 2],
        "state": ["begin", "middle", "begin", "middle"],
        "action": ["x"] * 4,
        "reward": [0.0, 6.0, 0.0, 8.0],
        "duration": [1.0] * 4,
        "next_state": ["middle", "end", "middle", "end"],
    }
    log = sj.read_log(columns)
    assert log.states == ("begin", "middle")
    assert sj.solve(log.model()).gain == 3.0
    assert log.findings == (
        "1 trajectory ends in a state that is never left, such as 'end'; the beginning of the next trajectory is taken to follow",
        "1 row leads to a state that the log never leaves, such as 'end', and is left out",
    )


def test_steps_without_time_keep_their_rewards() -> None:
    """10 in no time, then 1 in a time of 4: the rate is 2.75, of the log and of its model."""
    columns: dict[str, list[Any]] = {
        "state": ["call", "job"] * 200,
        "action": ["take", "do"] * 200,
        "reward": [10.0, 1.0] * 200,
        "duration": [0.0, 4.0] * 200,
        "next_state": ["job", "call"] * 200,
    }
    log = sj.read_log(columns)
    assert log.behaviour[:3] == pytest.approx((2.75, 2.75, 2.75), abs=1e-4)
    assert log.evaluate({"call": "take"}).gain == pytest.approx(2.75, abs=1e-3)


# --- The model of a log -----------------------------------------------------------------------


def test_the_model_is_an_estimate_and_says_so(tmp_path: Path) -> None:
    """It has the log's means, shares and counts; nothing is proven about it, nor after a file or a change."""
    log = sj.read_log(SMALL)
    model = log.model()
    assert model.counts is not None
    assert model.counts.tolist() == [3, 1, 2]
    assert model.reward.tolist() == [4.0, 3.0, 3.0]
    assert model.probability.tolist() == [1 / 3, 2 / 3, 1.0, 1.0]
    found = sj.solve(model)
    assert found.is_estimate
    assert (found.lower, found.upper) == (-math.inf, math.inf)
    assert repr(found).startswith("Solution(an estimate without proven bounds, from 6 observations: gain=")
    sj.models.save_model(model, tmp_path / "model.toml")
    for again in (
        sj.models.load_model(tmp_path / "model.toml"),
        model.with_actions_reversed(),
        model.with_names(None, None),
    ):
        assert again.counts is not None
        assert sorted(again.counts.tolist()) == [1, 2, 3]
        assert sj.solve(again).lower == -math.inf
    known = sj.solve(model.with_counts(None))
    assert known.lower == pytest.approx(known.gain)
    assert "estimate" not in repr(known)
    assert "estimate" not in repr(sj.solve(sj.problems.gosavi()))


def test_counts_are_checked(tmp_path: Path) -> None:
    """As many as pairs, each at least 1; in a file all pairs have one or none."""
    model = sj.read_log(SMALL).model()
    assert "counts has the length 2; it must be 3, the number of pairs" in sentence(
        lambda: model.with_counts([1, 2]), ValueError
    )
    assert "state 1 (b), action 0 (x) is 0" in sentence(lambda: model.with_counts([1, 2, 0]), ValueError)
    file = tmp_path / "model.toml"
    sj.models.save_model(model, file)
    file.write_text(file.read_text().replace("count = 1\n", ""))
    assert "pair 1 has no count" in sentence(lambda: sj.models.load_model(file), ValueError)


# --- Statistics -------------------------------------------------------------------------------


@pytest.mark.parametrize("dense", [500, 0])
def test_worth_is_the_exact_evaluation_of_the_fitted_model(
    dense: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gain and visits per unit time, by dense and by sparse systems, but for the rare restart."""
    monkeypatch.setattr(fits, "_DENSE", dense)
    model = machine()
    log = as_log(log_of(model, behaviours(model)["uneven"], 3000, 3), model)
    exact = sj.evaluate(log.model(), [0, 1, 1, 2, 2])
    share = (log.fit.action == np.array([0, 1, 1, 2, 2])[log.fit.state]).astype(float)
    found = worth(log.fit, share)
    assert found.gain == pytest.approx(exact.gain, abs=2e-4)
    np.testing.assert_allclose(found.visits, exact.stationary / exact.mean_duration, atol=1e-3)
    np.testing.assert_allclose(found.bias, exact.bias, atol=1e-2)


def test_squares_of_pairs_are_those_of_their_rows() -> None:
    """Sums of squares of a r + b tau + g(s'), from the counts, and row by row."""
    model = drawn(2)
    rows = log_of(model, behaviours(model)["even"], 500, 1)
    fit, rng = fitted(rows, 6), np.random.default_rng(0)
    a, b, bias = rng.normal(size=len(fit.seen)), rng.normal(size=len(fit.seen)), rng.normal(size=6)
    found = spread(fit, a, b, ahead(fit, bias))
    for pair in range(len(fit.seen)):
        at = fit.row_pair == pair
        each = a[pair] * rows.reward[at] + b[pair] * rows.duration[at] + bias[rows.next_state[at]]
        assert found[pair] == pytest.approx(np.sum((each - each.mean()) ** 2), rel=1e-9, abs=1e-9)


def test_standard_errors_are_those_of_many_logs() -> None:
    """Of a policy's estimated gain and of its difference to the behaviour: as far apart as 200 logs are, within 20 %."""
    model = machine()
    policy = behaviours(model)["good"]
    gains, differences, errors = [], [], []
    for seed in range(200):
        log = as_log(log_of(model, policy, 4000, seed), model)
        share = (log.fit.action == np.array([0, 1, 1, 2, 2])[log.fit.state]).astype(float)
        found, base = worth(log.fit, share), worth(log.fit, log.fit.behaviour)
        gains.append(found.gain)
        differences.append(found.gain - base.gain)
        errors.append((standard_error(log.fit, found)[0], compared(log.fit, found, base)[0]))
    told = np.sqrt(np.mean(np.square(errors), axis=0))
    assert told[0] == pytest.approx(np.std(gains), rel=0.2)
    assert told[1] == pytest.approx(np.std(differences), rel=0.2)


@pytest.mark.parametrize(("sign", "name"), [(1.0, "up"), (-1.0, "down")])
def test_the_lower_limit_of_a_share_is_the_arcsine_one(sign: float, name: str) -> None:
    """20 of 400 rows pay 1, or cost it: moving along the path, two standard errors of sin^2 are those of its angle."""
    paid = np.random.default_rng(4).permutation(np.repeat([False, True], [380, 20]))
    after = paid.astype(np.int64)  # the next state tells the reward, so that rows can change their weight
    rows = LogRows(np.append(0, after[:-1]), np.zeros(400, dtype=np.int64), sign * paid, np.ones(400), after)
    fit = fitted(rows, 2)
    found = worth(fit, fit.behaviour)
    angle = math.asin(math.sqrt(0.05)) - sign * 2.0 / (2.0 * math.sqrt(400.0))
    assert found.gain == pytest.approx(sign * 0.05, abs=1e-6)
    assert lower_limit(fit, found, 2.0) == pytest.approx(sign * math.sin(angle) ** 2, abs=0.0025)
    straight = found.gain - 2.0 * standard_error(fit, found)[0]
    assert (lower_limit(fit, found, 2.0) < straight) == (name == "down")


def test_candidates_never_take_what_was_seen_too_rarely() -> None:
    """An action seen four times is not chosen though it looks best; seen often, it is."""
    for count, wanted in ((4, "safe"), (60, "bold")):
        columns: dict[str, list[Any]] = {
            "state": ["in"] * 500,
            "action": ["bold"] * count + ["safe"] * (500 - count),
            "reward": ([9.0, 11.0] * 250)[:count] + [1.0, 1.2] * 250,
            "duration": [1.0] * 500,
            "next_state": ["in"] * 500,
        }
        columns["reward"] = columns["reward"][:500]
        log = sj.read_log(columns)
        assert log.improve().policy == {"in": wanted}
        assert len(candidates(log.fit, worth(log.fit, log.fit.behaviour))) == 1


def test_nothing_clearly_better_keeps_the_behaviour() -> None:
    """Two actions that are the same: the advice is to go on, with the behaviour's own figures."""
    model = sj.problems.admission_control(capacity=4)
    log = as_log(log_of(model, behaviours(model)["good"], 60, 5), model)
    better = log.improve()
    assert chosen(log._rows, log.fit) is None
    assert better.kept
    assert (better.gain, better.low, better.beats_behaviour) == (log.behaviour.rate, log.behaviour.low, 0.0)
    assert "keep it" in better.sentence
    assert "Markov" in better.sentence


def test_levels_move_the_limits() -> None:
    """A surer limit is lower, a surer interval wider; a level is a share."""
    model = machine()
    log = as_log(log_of(model, behaviours(model)["even"], 3000, 8), model)
    assert log.improve(0.99).low < log.improve(0.9).low < log.improve().gain
    policy = log.improve().policy
    assert log.evaluate(policy, 0.99).low < log.evaluate(policy, 0.9).low
    assert "level" in sentence(lambda: log.improve(95.0), ValueError)


# --- Off-policy evaluation ----------------------------------------------------------------------


def test_a_policy_is_evaluated_with_and_without_the_model() -> None:
    """Both intervals hold the exact gain in 92 to 99 % of 150 logs, and the weighted one is wider."""
    model = machine()
    behaviour = behaviours(model)["even"]
    wanted: dict[Any, Any] = {0: 0, 1: 1, 2: {1: 0.5, 2: 0.5}, 3: 2, 4: 2}
    probabilities = np.zeros((5, 3))
    probabilities[[0, 1, 2, 2, 3, 4], [0, 1, 1, 2, 2, 2]] = [1, 1, 0.5, 0.5, 1, 1]
    gain, held, widths = sj.evaluate(model, probabilities).gain, [], []
    for seed in range(150):
        rows = log_of(model, behaviour, 4000, seed)
        log = as_log(rows, model, behaviour[rows.state, rows.action])
        found = log.evaluate(wanted)
        assert found.weighted is not None
        held.append((found.low <= gain <= found.high, found.weighted.low <= gain <= found.weighted.high))
        widths.append((found.high - found.low, found.weighted.high - found.weighted.low))
    shares, width = np.mean(held, axis=0), np.mean(widths, axis=0)
    assert ((shares >= 0.9) & (shares <= 0.995)).all()
    assert width[0] < width[1]


def test_weighted_cycles_by_hand() -> None:
    """Cycles from a to a, each step weighted by the ratios so far; what does not come back to a is not used."""
    columns: dict[str, list[Any]] = {
        "state": ["a", "b", "a", "a", "b", "a", "b"] * 40,
        "action": ["x", "y", "y", "x", "x", "x", "y"] * 40,
        "reward": [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0] * 40,
        "duration": [1.0, 2.0, 1.0, 1.0, 2.0, 1.0, 1.0] * 40,
        "probability": [0.5, 0.25, 0.5, 0.5, 0.75, 0.5, 0.25] * 40,
        "next_state": ["b", "a", "a", "b", "a", "b", "a"] * 40,
    }
    log = sj.read_log(columns)
    found = log.evaluate({"a": "x", "b": {"x": 0.5, "y": 0.5}}).weighted
    # a x b y: weights 2, then 2 * .5/.25 = 4. a y: 0. a x b x: 2, then 2 * .5/.75 = 4/3. a x b y: 2, 4.
    earned = 2.0 * 1.0 + 4.0 * 2.0 + 0.0 + 2.0 * 8.0 + 4.0 / 3.0 * 16.0 + 2.0 * 32.0 + 4.0 * 64.0
    taken = 2.0 * 1.0 + 4.0 * 2.0 + 0.0 + 2.0 * 1.0 + 4.0 / 3.0 * 2.0 + 2.0 * 1.0 + 4.0 * 1.0
    assert found is not None
    assert found.cycles == 160
    assert found.rate == pytest.approx(earned / taken)
    assert found.low < found.rate < found.high
    assert log.evaluate({"a": "y"}).weighted is not None
    short = sj.read_log({name: values[:20] for name, values in columns.items()})
    assert short.evaluate({"a": "x"}).weighted is None  # too little fits


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ({"c": "x"}, "the state 'c', which the log does not have"),
        (
            {"b": "y"},
            "never took the action 'y' in the state 'b', so it cannot say what that is worth; it took 'x'",
        ),
        ({"a": {"x": 0.5, "y": 0.4}}, "sum to 0.9"),
        ({"a": {"x": -0.5, "y": 1.5}}, "a probability in the state 'a'"),
        (["x"], "must be a dictionary"),
    ],
)
def test_a_policy_that_the_log_cannot_judge(policy: Any, words: str) -> None:
    """It is refused in one sentence."""
    assert words in sentence(lambda: sj.read_log(SMALL).evaluate(policy))


# --- Safe improvement ---------------------------------------------------------------------------


def test_promises_are_kept_and_improvements_real() -> None:
    """The short form of the study: 40 logs each of a machine and a queue, 2,000 rows."""
    trials = []
    for model, name in ((machine(), "even"), (models()["admission"], "good")):
        trials += tried(model, behaviours(model)[name], 2000, range(40_000, 40_040))
    shares = np.array(trials, dtype=float).mean(axis=0)
    assert shares[0] <= 0.07
    assert shares[1] <= 0.04
    assert shares[2] >= 0.7  # the queue under a good behaviour is among the hardest
    assert 0.88 <= shares[3] <= 1.0


def test_plain_solving_promises_too_much() -> None:
    """What `improve` is for: the solution of the log's model claims more than the optimum in most short logs."""
    model = machine()
    best, claims, kept = sj.solve(model).gain, [], []
    for seed in range(30):
        log = as_log(log_of(model, behaviours(model)["habitual"], 400, 90_000 + seed), model)
        claims.append(sj.solve(log.model()).gain > best)
        better = log.improve()
        kept.append(
            better.kept or better.low <= true_gain(model, behaviours(model)["habitual"], better.policy)
        )
    assert np.mean(claims) >= 0.5
    assert np.mean(kept) >= 0.93


@pytest.mark.evidence
@pytest.mark.parametrize(("count", "realised"), [(2_000, 80.0), (50_000, 95.0)])
def test_the_study_of_safe_improvement(count: int, realised: float) -> None:
    """7 models, 4 behaviours, 200 logs each, seeds that the method was not chosen on: the bars, and the page's figures."""
    first = {2_000: 62_000_000, 50_000: 72_000_000}[count]
    cells = [
        100.0 * np.array(tried(model, policy, count, range(first, first + 200)), dtype=float).mean(axis=0)
        for model in models().values()
        for policy in behaviours(model).values()
    ]
    mean, most, least = np.mean(cells, axis=0), np.max(cells, axis=0), np.min(cells, axis=0)
    assert (mean[0] <= 5.0, most[0] <= 7.0) == (True, True)
    assert mean[1] <= 2.0
    assert mean[2] >= realised
    assert 92.0 <= mean[3] <= 98.0
    figures = [mean[0], most[0], mean[1], most[1], mean[2], least[2], mean[3]]
    row = f"| {count:,} | " + " | ".join(f"{figure:.1f}" for figure in figures) + " |"
    assert row in DOCS.joinpath("logs.md").read_text(encoding="utf-8"), row


@pytest.mark.evidence
def test_the_behaviours_interval_holds_in_every_cell() -> None:
    """92 to 98 % of 1,000 logs of 2,000 rows, for each model and behaviour."""
    for name, model in models().items():
        for kind, policy in behaviours(model).items():
            gain = sj.evaluate(model, policy).gain
            held = [
                (found := as_log(log_of(model, policy, 2000, seed), model).behaviour).low
                <= gain
                <= found.high
                for seed in range(80_000_000, 80_001_000)
            ]
            assert 0.92 <= np.mean(held) <= 0.98, (name, kind, np.mean(held))


# --- Dangerous laws -----------------------------------------------------------------------------


def test_limits_hold_where_a_few_rows_decide() -> None:
    """The short form of the study of dangerous laws, 100 logs of 500 rows each; by counts alone 28 limits of 181 fail."""
    cells = log_cells.cells()
    found = [
        log_cells.tried(cells[name], 500, range(100), math.inf)
        for name in (
            "shop, lognormal 1.5",
            "machine, lognormal 2",
            "machine, Pareto 1.5",
            "new units of 20 rows, gamma",
        )
    ]
    advised = sum(one.advised for one in found)
    assert advised >= 60
    assert sum(one.too_high for one in found) <= 0.05 * advised
    held = np.array([(one.behaviour, one.evaluated) for one in found])
    assert ((held >= 80) & (held <= 100)).all()
    assert held.mean() >= 88


def test_the_study_of_dangerous_laws_meets_its_bars() -> None:
    """In every cell that breaks no assumption, but for intervals that are too wide; and the page has the tables of the stored counts.

    The bars are missed only on the safe side: intervals of disasters that were seen some ten times hold in 99 % of the logs.
    """
    stored = json.loads(log_cells.STORE.read_text(encoding="utf-8"))
    page = DOCS.joinpath("logs.md").read_text(encoding="utf-8")
    for table in log_cells.tables(stored):
        assert table in page, table
    judged = log_cells.verdicts(stored)
    assert {one.bar for one in judged} == set(log_cells.BARS)
    others = [one for one in judged if one.verdict != log_cells.MET]
    assert len(others) <= 3
    for one in others:
        assert "disasters" in one.cell, one
        assert "interval" in one.bar, one
        assert 0.98 < one.held / one.tried < 0.995, one


@pytest.mark.evidence
@pytest.mark.parametrize("name", log_cells.cells())
def test_dangerous_laws_again(name: str) -> None:
    """Other seeds than the stored ones, 2,000 rows: limits too high in at most 5 % of the logs, if nothing is assumed in vain."""
    cell = log_cells.cells()[name]
    if not cell.is_doubtful(2_000):
        found = log_cells.tried(cell, 2_000, range(300), math.inf)
        assert found.too_high <= 0.05 * found.logs
        assert found.behaviour >= (0.9 if cell.is_finite else 0.8) * found.logs


def test_new_units_have_one_number() -> None:
    """Units that begin new and are censored: behaviour and evaluate({}) are the model's gain, and the log says why it earned more."""
    cell = log_cells.cells()["new units of 20 rows, gamma"]
    log = cell.log(10_000, 1)
    behaviour, asked = log.behaviour, log.evaluate({})
    assert asked[:3] == behaviour[:3]
    model = log.model()
    shares = np.zeros((model.num_states, model.num_actions))
    shares[log.fit.state, log.fit.action] = log.fit.behaviour
    assert behaviour.rate == pytest.approx(sj.evaluate(model, shares).gain, rel=1e-3)
    assert behaviour.low <= cell.gain(cell.behaviour) <= behaviour.high < behaviour.observed
    assert "has not reached its long run" in behaviour.sentence
    assert log.improve().behaviour == behaviour


def test_padding_adds_half_a_row_for_what_other_actions_have_shown() -> None:
    """In a, x leads to b twice and to a once, y once to b: y gets half a row for a."""
    fit = padded(sj.read_log(SMALL).fit)
    assert fit.cell_pair.tolist() == [0, 0, 1, 1, 2]
    assert fit.cell_next.tolist() == [0, 1, 0, 1, 0]
    assert fit.cell_count.tolist() == [1.0, 2.0, 0.5, 1.0, 2.0]
    assert fit.cell_share.tolist() == pytest.approx([1 / 3, 2 / 3, 1 / 3, 2 / 3, 1.0])


# --- The command --------------------------------------------------------------------------------


def test_the_command_says_it_all_and_the_page_shows_it(tmp_path: Path) -> None:
    """What Python answers, in words and as JSON; the folder has a section of the page; a fault is one sentence."""
    model = machine()
    rows = log_of(model, behaviours(model)["even"], 3000, 12)
    names = (model.state_names or (), model.action_names or ())
    table = pl.DataFrame(
        {
            "state": [names[0][state] for state in rows.state],
            "action": [names[1][action] for action in rows.action],
            "reward": rows.reward,
            "duration": rows.duration,
            "next_state": [names[0][state] for state in rows.next_state],
            "probability": np.full(3000, 1 / 3),
        }
    )
    table.write_csv(tmp_path / "log.csv")
    policy = {"wear 0": "run", "wear 1": "oil"}
    tmp_path.joinpath("policy.json").write_text(json.dumps(policy))
    program = [sys.executable, "-c", "from sojourn.cli import main; main()", "log", str(tmp_path / "log.csv")]

    def ran(*more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*program, *more], capture_output=True, text=True, check=False)

    log = sj.read_log(tmp_path / "log.csv")
    better = log.improve()
    told = json.loads(
        ran("--policy", str(tmp_path / "policy.json"), "--out", str(tmp_path / "out"), "--json").stdout
    )
    assert (told["gain"], told["low"], told["beats_behaviour"]) == (
        better.gain,
        better.low,
        better.beats_behaviour,
    )
    assert {one["state"]: one["action"] for one in told["advice"]} == better.policy
    assert told["evaluation"]["rate"] == log.evaluate(policy).gain
    assert told["weighted"] is not None
    assert told["markov"] == {"memory": log.markov().memory, "drift": log.markov().drift}
    page = write_report([tmp_path / "out"], tmp_path / "page.html").read_text(encoding="utf-8")
    assert "From log.csv to a decision" in page
    assert "stationary" in page
    assert "othing speaks against states that are Markov" in page
    words = "\n".join(lines(answered("log.csv", log)))
    assert log.markov().verdict in words
    drifting = sj.read_log(
        {"state": [0] * 400, "action": [0] * 400, "reward": [0] * 200 + [1] * 200, "duration": [1] * 400}
    )
    assert "the log is not stationary: the reward depends on the time" in "\n".join(
        lines(answered("x", drifting))
    )
    assert better.sentence in words
    assert log.behaviour.sentence in words
    assert "wear 3" in words
    wrong = ran("--state", "stat")
    assert wrong.returncode == 1
    assert wrong.stderr == "sojourn: the log has no column 'stat' for the state; did you mean 'state'?\n"


def test_advice_on_the_command_line_goes_round(tmp_path: Path) -> None:
    """`--advice` writes what `improve` finds, `--policy` reads that file again, and keeping on or another policy is said."""
    log, path, file = tmp_path / "log.csv", tmp_path / "log.json", tmp_path / "advice.json"
    pl.DataFrame(
        {"state": [3] * 90, "action": ["a", "b", "b"] * 30, "reward": [1, 5, 7] * 30, "duration": 1}
    ).write_csv(log)
    ask("log", log, "--advice", file)
    better = sj.read_log(log).improve()
    assert {3: sj.load_policy(file).act(3)} == better.policy == {3: "b"}
    told = json.loads(ask("log", log, "--policy", file, "--json").stdout)
    policy = sj.load_policy(file)
    assert isinstance(policy, LabelPolicy)
    found = sj.read_log(log).evaluate(policy)
    assert told["evaluation"]["rate"] == found.gain == sj.read_log(log).evaluate({3: "b"}).gain
    pl.DataFrame({"state": [3] * 90, "action": ["a", "b", "b"] * 30, "reward": 1, "duration": 1}).write_csv(
        log
    )
    again = ask("log", log, "--advice", path)
    assert (
        again.stderr == f"sojourn: nothing is clearly better than what was done, so {path} was not written\n"
    )
    assert "rows" in again.stdout
    assert not path.exists()
    sj.solve(sj.problems.long_shot()).write_policy(path)
    assert "a log needs one in its own words" in ask("log", log, "--policy", path).stderr


def test_what_states_add_is_the_whole_difference() -> None:
    """The parts of the gain sum to the difference of the two gains of the log's model; states that keep on add nothing."""
    model = machine()
    log = as_log(log_of(model, behaviours(model)["even"], 3000, 12), model)
    better = log.improve()
    assert not better.kept
    whole = log.evaluate(better.policy).gain - log.evaluate({}).gain
    assert sum(better.adds.values()) == pytest.approx(whole, rel=1e-6)
    small = sj.read_log(SMALL).improve()
    assert small.kept
    assert set(small.adds.values()) == {0.0}


def test_the_picture_shows_what_was_done_and_what_would_be(tmp_path: Path) -> None:
    """Counts state by state with the advice marked; of many pairs, maps whose actions share their colours, and the rows."""
    rng = np.random.default_rng(0)
    x, y, done = (rng.integers(0, many, 4000) for many in (8, 8, 2))
    table = {"x": x, "y": y, "action": np.array(["run", "mend"])[done], "reward": done * (x - 3.2), "duration": np.ones(4000)}  # fmt: skip
    log = sj.read_log(table | {"next_state": np.roll(x, -1)}, state="x")
    found = answered("few", log)
    chart = picture(found)
    assert isinstance(chart, Heatmap)
    for row, one in enumerate(reversed(found.advice)):
        shown = dict(zip(chart.x.values, chart.labels[row], strict=True))
        for action, label in shown.items():
            times = int(((x == int(one.state)) & (table["action"] == action)).sum())
            assert label.removesuffix(" \N{CHECK MARK}") == str(times)
        assert [action for action, label in shown.items() if "\N{CHECK MARK}" in label] == [
            "mend" if int(one.state) > 3 else "run"
        ]
    most = carrying(found)
    assert [one.state for one in most] == ["7", "0", "6"]
    found.write(tmp_path / "few")
    page = write_report([tmp_path / "few"], tmp_path / "page.html").read_text(encoding="utf-8")
    assert (
        page.index("What was done, and what would be done")
        < page.index("Assumed: ")
        < page.index("rows that carry most of the gain")
    )
    pairs = answered("pairs", sj.read_log(table, state=["x", "y"]), parts=("x", "y"))
    maps = picture(pairs)
    assert isinstance(maps, Charts)
    before, after, rows = maps.items
    assert isinstance(before, Regions)
    assert isinstance(after, Regions)
    assert isinstance(rows, Heatmap)
    assert (before.x.label, before.y.label) == ("x", "y")
    assert dict(zip(before.names, before.colours, strict=True)) == dict(
        zip(after.names, after.colours, strict=True)
    )
    for one in pairs.advice:
        across, up = one.place
        assert after.names[after.values[int(up)][int(across)] or 0] == one.action
        assert rows.values[int(up)][int(across)] == one.rows


def test_what_a_notebook_shows_of_a_log() -> None:
    """Logs and advice show themselves as a sentence, a picture and a table, without a network and with escaped text."""
    rng = np.random.default_rng(2)
    states, actions = rng.integers(0, 12, 300).tolist(), rng.choice(["run", "<b>"], 300).tolist()
    table = {
        "state": states,
        "action": actions,
        "reward": rng.normal(size=300),
        "duration": [1.0] * 299 + [-1.0],
    }
    log = sj.read_log(table)
    better = sj.read_log({"state": [0] * 90, "action": ["a", "b", "b"] * 30, "reward": [1, 5, 7] * 30, "duration": [1, 2, 2] * 30})  # fmt: skip
    pairs = sj.read_log(table | {"other": states[::-1]}, state=["state", "other"])
    shown = [one._repr_html_() for one in (log, log.improve(), pairs, better.improve())]
    for one in shown:
        assert 'src="data:image/png;base64,' in one
        assert "http" not in one
        assert "<b>" not in one
    assert "1 row has a negative duration" in shown[0]
    assert "and 2 more states: counts() has them all" in shown[0]
    assert "and 2 more states: policy has them all" in shown[1]
    assert better.improve().sentence in shown[3]
    assert "<td>b</td><td>59</td>" in shown[3]


def test_an_answer_survives_its_file(tmp_path: Path) -> None:
    """A log that has refusals, findings and nothing better to offer is written and shown too."""
    log = sj.read_log(SMALL | {"reward": [1.0, 2.0, None, 4.0, 5.0, 6.0]})
    found = answered("small", log)
    assert found.kept
    found.write(tmp_path / "out")
    page = write_report([tmp_path / "out"], tmp_path / "page.html").read_text(encoding="utf-8")
    assert "1 row has no reward (row 3)" in page
    assert "as before" in page


def test_solving_the_file_of_an_estimated_model_proves_nothing(tmp_path: Path) -> None:
    """The command's words, its record and the page say that the gain is an estimate."""
    sj.models.save_model(sj.read_log(SMALL).model(), tmp_path / "model.toml")
    found = solve_named(str(tmp_path / "model.toml"), {})
    assert (found.lower, found.upper) == (None, None)
    assert "an estimate without proven bounds" in solution_lines(found)[0]
    found.write(tmp_path / "out")
    page = write_report([tmp_path / "out"], tmp_path / "page.html").read_text(encoding="utf-8")
    assert "nothing is proven" in page
    assert "proven to lie between" not in page


def test_many_states_of_luck_are_not_promised() -> None:
    """150 states of two actions that are the same: what looks best in each is luck, and none of it is promised."""
    rng = np.random.default_rng(3)
    for better in (0.0, 0.3):
        state = rng.integers(0, 150, 7_501)
        action = rng.integers(0, 2, 7_500)
        reward = rng.normal(1.0 + better * action)
        rows = LogRows(state[:-1], action, reward, np.ones(7_500), state[1:])
        labels = (tuple(range(150)), (0, 1))
        log = sj.exact.Log(rows, np.zeros(7_500, dtype=np.int64), None, labels)
        found = log.improve()
        share = np.mean([choice == 1 for choice in found.policy.values()])
        truth = 1.0 + better * share
        plain = sj.solve(log.model()).gain
        assert plain > 1.0 + better + 0.01  # more than any policy earns
        if better:
            assert not found.kept
            assert found.low < found.gain < truth + 0.03
            assert found.low < truth
            assert found.behaviour.rate < found.low
        else:
            assert found.kept


def test_a_file_is_found_from_the_folder_one_stands_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reader of files is kept, and goes where its caller goes."""
    for number, folder in enumerate((tmp_path / "one", tmp_path / "two"), start=1):
        folder.mkdir()
        monkeypatch.chdir(folder)
        rows = number * ["a,x,1.0,1.0,a"]
        Path("log.csv").write_text("\n".join(["state,action,reward,duration,next_state", *rows]))
        assert repr(sj.read_log("log.csv")).startswith(f"Log({number} row")


def test_numbers_beyond_reckoning_are_refused() -> None:
    """A reward of 1e308, whose square is no float, is left out like a text; so is a duration of 1e-320."""
    log = sj.read_log(SMALL | {"reward": [1.0, 1e308, 3.0, 4.0, 5.0, 6.0]})
    assert log.refused == ("1 row has a reward too large or too small to compute with (row 2)",)
    log = sj.read_log(SMALL | {"duration": [1.0, 1.0, 1e-320, 1.0, 1e300, 0.0]})
    assert log.refused == ("2 rows have a duration too large or too small to compute with (rows 3, 5)",)


def test_a_log_whose_trajectories_are_all_missing_gets_a_sentence() -> None:
    """No row can be used, and that is what is said, although there is no next row to look for either."""
    columns = {name: column for name, column in SMALL.items() if name != "next_state"}
    with pytest.raises(ValueError, match=r"no row that can be used: 6 rows have no trajectory"):
        sj.read_log(columns | {"trajectory": [None] * 6})


@pytest.mark.parametrize("column", ["state", "reward"])
def test_a_date_that_python_has_not_gets_a_sentence(column: str, tmp_path: Path) -> None:
    """A Parquet file can hold a date in the year 5,881,580, over which Polars panics; the sentence names the column."""
    rows: dict[str, pl.Series] = {
        name: pl.Series([1, 2, 1]) for name in ("state", "action", "reward", "duration")
    }
    rows[column] = pl.Series([2**31 - 1] * 3, dtype=pl.Int32).cast(pl.Date)
    pl.DataFrame(rows).write_parquet(tmp_path / "log.parquet")
    for read in (sj.read_log, read_earnings):
        if read is sj.read_log or column == "reward":
            with pytest.raises(
                ValueError, match=f"the column '{column}' of the log holds something that cannot be read"
            ):
                read(tmp_path / "log.parquet")


def test_a_number_without_end_is_an_infinite_one() -> None:
    """A whole number of 400 digits is left out like an infinite reward, and named."""
    log = sj.read_log(
        {
            "state": [0, 0, 0],
            "action": [0, 0, 0],
            "reward": [1.0, 10**400, 2.0],
            "duration": [1, 1, 1],
            "next_state": [0, 0, 0],
        }
    )
    assert log.refused == ("1 row has an infinite reward (row 2)",)


def test_sizes_that_no_sum_can_hold_are_left_out() -> None:
    """Two durations of 1e308 add up to infinity, at which every rate is 0; such rows are left out and counted."""
    found = read_earnings({"reward": [1.0, 2.0, 3.0, 1e200], "duration": [1e308, 1e308, 1.0, 1.0]})
    assert (found.rewards.tolist(), found.durations.tolist()) == ([3.0], [1.0])
    assert found.refused == (
        "1 row has a reward too large or too small to compute with (row 4)",
        "2 rows have a duration too large or too small to compute with (rows 1, 2)",
    )
