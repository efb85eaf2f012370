"""Tables of events: what becomes of time stamps, states and the ends of units."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sojourn as sj
from log_samples import log_of, machine
from small_envs import sentence
from sojourn.answers.log import answered_file, lines
from sojourn.exact.logs import pieces

SHARED = Path(__file__).parents[3] / "shared" / "data"
BUSES, TURBOFANS = SHARED / "buses" / "a530875.asc", SHARED / "cmapss" / "train_FD001.txt"

# Two machines; the second begins two days after the first. Last rows: machine 1 on day 5, machine 2 on day 7.
EVENTS: dict[str, list[Any]] = {
    "unit": [1, 1, 1, 2, 2],
    "time": [0, 2, 5, 2, 7],
    "state": ["new", "old", "new", "new", "old"],
    "action": ["run", "fix", "run", "run", "fix"],
    "reward": [1.0, -4.0, 2.0, 3.0, -5.0],
}


def read(**changes: Any) -> sj.Log:
    """Read the small table with some of its columns changed or with other options."""
    table = EVENTS | {name: changes.pop(name) for name in list(changes) if isinstance(changes[name], list)}
    return sj.read_events(table, **changes)


def rows(log: sj.Log) -> list[tuple[Any, ...]]:
    """Return the rows of a log: state, action, reward, duration, next state."""
    found = log._rows
    assert found is not None
    return [
        (log.states[s], log.actions[a], r, d, log.states[n])
        for s, a, r, d, n in zip(*(column.tolist() for column in found), strict=True)
    ]


# --- What follows a row -----------------------------------------------------------------------


def test_the_next_row_of_the_unit_is_the_next_state() -> None:
    """By hand; the two last rows are censored, and left out."""
    log = read()
    assert rows(log) == [
        ("new", "run", 1.0, 2.0, "old"),
        ("old", "fix", -4.0, 3.0, "new"),
        ("new", "run", 3.0, 5.0, "old"),
    ]
    assert log.censored == 2
    assert log.findings == ("2 rows are censored: the last of a unit, and what followed was not seen",)
    assert repr(log) == "Log(3 rows, 2 states, 2 actions; 2 censored)"


def test_a_renewed_unit_is_followed_by_the_one_that_began_next() -> None:
    """The last row takes no time; after the last unit comes the first, so every state is entered as often as left."""
    log = read(ends="renew")
    assert rows(log)[2:] == [
        ("new", "run", 2.0, 0.0, "new"),
        ("new", "run", 3.0, 5.0, "old"),
        ("old", "fix", -5.0, 0.0, "new"),
    ]
    assert log.censored == 0
    assert (
        log.behaviour.rate == pytest.approx(log.behaviour.observed, rel=1e-12) == pytest.approx(-3.0 / 10.0)
    )
    assert log.evaluate({}).gain == log.behaviour.rate
    assert sj.solve(log.model()).gain >= log.behaviour.rate


def test_on_one_clock_the_last_row_lasts_until_the_next_unit_begins() -> None:
    """Units that overlap are refused; the very last row is censored."""
    log = read(time=[0, 2, 5, 9, 11], ends="continue")
    assert rows(log)[2] == ("new", "run", 2.0, 4.0, "new")
    assert log.censored == 1
    assert read(ends="continue").refused == (
        "1 row has a time after the beginning of the next unit, which overlaps (row 3)",
    )


def test_a_column_says_which_units_have_ended() -> None:
    """Only its entries at the last rows count."""
    log = read(ended=[True, False, True, True, False], ends="ended")
    assert rows(log)[2] == ("new", "run", 2.0, 0.0, "new")
    assert (len(log), log.censored) == (4, 1)
    told = sentence(lambda: read(ends="renewed"), ValueError)
    assert (
        told
        == "ends is 'renewed'; it must be 'censored', 'renew', 'continue', or a column; did you mean 'reward'?"
    )


# --- Time stamps ----------------------------------------------------------------------------

DAYS = (0, 2, 5, 2, 7)
START = datetime.fromisoformat("2024-02-27")
CLOCKS: dict[str, Any] = {
    "dates": [date(2024, 2, 27) + timedelta(days) for days in DAYS],
    "datetimes": [START + timedelta(days) for days in DAYS],
    "zones": [(START + timedelta(days)).replace(tzinfo=UTC).astimezone(timezone(timedelta(hours=days))) for days in DAYS],
    "ISO dates": [(START + timedelta(days)).date().isoformat() for days in DAYS],
    "ISO with Z": [(START + timedelta(days)).isoformat() + "Z" for days in DAYS],
    "compact": [(START + timedelta(days)).strftime("%Y%m%dT%H%M%S") + "+0530" for days in DAYS],
    "timedeltas": [timedelta(days) for days in DAYS],
    "NumPy": np.datetime64("2024-02-27T00:00:00") + np.array(DAYS) * np.timedelta64(1, "D"),
    "polars": pl.Series([START + timedelta(days) for days in DAYS], dtype=pl.Datetime("ns", "Asia/Tokyo")),
    "seconds": [86_400 * days for days in DAYS],
}  # fmt: skip


@pytest.mark.parametrize("name", CLOCKS)
def test_every_kind_of_time_stamp_gives_the_same_durations(name: str) -> None:
    """Across the 29th of February; in days, in weeks and in months of 30.436875 days."""
    table = EVENTS | {"time": CLOCKS[name]}
    for per, days in (("day", 1.0), ("week", 7.0), ("month", 30.436875)):
        log = sj.read_events(table, per=per)
        assert [row[3] for row in rows(log)] == pytest.approx([2.0 / days, 3.0 / days, 5.0 / days], rel=1e-12)
        assert log.per == per
        assert f"per {per}," in log.behaviour.sentence
    if name != "seconds":
        assert sj.read_events(table).per == "day"


def test_seconds_stay_exact_over_years() -> None:
    """Time stamps a second apart, fifty years from the epoch."""
    stamps = [f"2024-01-01T00:00:{second:02d}.25" for second in (0, 1, 3)]
    log = sj.read_events({"unit": [1] * 3, "time": stamps, "state": [0] * 3, "reward": [1] * 3}, per="second")
    assert [row[3] for row in rows(log)] == [1.0, 2.0]


# --- Bad tables -----------------------------------------------------------------------------

BAD: list[tuple[dict[str, Any], str]] = [
    ({"time": [0, 2, 5, 2, 2]}, "note: 1 row has the time of the row before, which takes no time; such rows stay in the order of the table"),
    ({"time": [2, 0, 5, 2, 7]}, "note: 1 row was not in the order of time in its unit; all were sorted"),
    ({"time": [2, 0, 5, 2, 7], "unit": [1] * 5}, "note: 2 rows were not in the order of time in their unit; all were sorted"),
    ({"time": [0, None, 5, 2, 7]}, "1 row has no time that can be read (row 2)"),
    ({"time": ["2024-01-01", "2024-01-02", "soon", "2024-01-01", "2024-01-02"]}, "1 row has no time that can be read (row 3)"),
    ({"unit": [1, 1, 1, None, 2]}, "1 row has no unit (row 4)"),
    ({"unit": [1, 1, 1, 2, 3]}, "note: 2 units have only one row"),
    ({"reward": ["a lot", 1, 1, 1, 1]}, "1 row has a text where the reward belongs (row 1)"),
    ({"state": ["new", "old", "new", None, "old"]}, "1 row has no state (row 4)"),
    ({"action": ["run"] * 5}, "note: the log has only one action, 'run'; it says what that earns, and nothing about others"),
]  # fmt: skip


def test_units_that_are_not_named_are_missed() -> None:
    """Rows out of order may be those of several units, if no column of units was named."""
    table = {"time": [0, 1, 0, 1], "state": [0] * 4, "reward": [1] * 4}
    log = sj.read_events(table, unit=None)
    assert log.findings[0] == (
        "1 row was not in the order of time; all were sorted, as those of one unit: if there are several, name the column `unit`"
    )


@pytest.mark.parametrize(("change", "said"), BAD)
def test_what_is_wrong_with_a_table_is_counted(change: dict[str, Any], said: str) -> None:
    """A sentence each, with the number of rows and which rows of the table they are."""
    log = read(**change)
    assert said in (*log.refused, *(f"note: {sentence}" for sentence in log.findings))


def test_repeated_rows_are_left_out() -> None:
    """A table that holds each row twice is the same log; the sentence counts the rows."""
    twice = {name: values * 2 for name, values in EVENTS.items()}
    log = sj.read_events(twice)
    assert rows(log) == rows(read())
    assert log.refused == ("5 rows have the same entries as another row of the unit (rows 6, 7, 8, 9, 10)",)


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: read(unit=[1, 2, 3, 4, 5]), 'every row is censored: 5 units have one row each, and what follows is not known; say it by ends="renew" or ends="continue", or give units with more rows'),
    (lambda: read(time=["2024-01-01T00:00Z", "2024-01-02 00:00+02:00", "2024-01-03T00:00", "2024-01-04", "2024-01-05"]), "the column 'time' of the log mixes time zones: 2 rows have a zone and 3 have none; give all of them one, or none"),
    (lambda: read(time=["31.01.2024 18:30"] * 5), "the column 'time' of the log has texts such as '31.01.2024 18:30', which are not times of ISO 8601; write them like 2024-01-31 18:30:00, for example by str.to_datetime of polars or to_datetime of pandas"),
    (lambda: read(state=[0.1, 0.2, 0.3, 0.4, 0.5]), "every row of the log leads sooner or later to a state that is never left; next states must be among the states, and a column of measurements must be cut into bins (sj.bins)"),
    (lambda: read(per="fortnight"), "per is 'fortnight'; it must be one of second, minute, hour, day, week, month, year"),
    (lambda: sj.read_events(EVENTS, time="tine"), "the log has no column 'tine' for the time; did you mean 'time'?"),
    (lambda: sj.read_events(EVENTS, reward=lambda row: row["rewards"]), "the log has no column 'rewards'; did you mean 'reward'?"),
    (lambda: sj.read_events({"unit": [1], "time": []}), "the columns of the log have 0, 1 rows; they must all have the same number"),
    (lambda: sj.bins("x"), "bins of 'x' are given nothing; give one of count, width, quantiles, edges, rare"),
    (lambda: sj.bins("x", 4, width=2.0), "bins of 'x' are given count and width; give one of count, width, quantiles, edges, rare"),
    (lambda: sj.bins("x", edges=[2.0, 1.0]), "edges are [2.0, 1.0]; give at least one, each larger than the one before"),
    (lambda: read(state=sj.bins("action", 4)), "the column 'action' is of type String, not of numbers; it cannot be cut into bins"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "said"), REFUSED)
def test_what_cannot_be_read_is_said(call: Callable[[], object], said: str) -> None:
    """In one sentence."""
    assert sentence(call, (ValueError, TypeError)) == said


# --- Rewards and states -------------------------------------------------------------------


def test_rewards_are_columns_numbers_or_functions_of_the_row() -> None:
    """Per row and per unit of time, together; a function that asks about single rows gives the same numbers."""
    gains = [
        read(reward=lambda row: -2.0 * row["reward"]).behaviour.rate,
        read(reward=lambda row: -2.0 * row["reward"] if row["state"] else 0.0).behaviour.rate,
        read(reward=[-2.0, 8.0, 0.0, -6.0, 0.0]).behaviour.rate,
    ]
    assert gains[0] == gains[1] == gains[2]
    assert [row[2] for row in rows(read(reward="reward", earning=10.0))] == [21.0, 26.0, 53.0]
    assert [row[2] for row in rows(read(earning="reward"))] == [2.0, -12.0, 15.0]
    assert [row[2] for row in rows(read(reward=lambda row: -5.0 * (row["action"] == "fix")))] == [
        0.0,
        -5.0,
        0.0,
    ]


def test_bins_hold_what_they_say() -> None:
    """Widths, counts, quantiles and edges: a bin's label is at most its values, and the next label is above them."""
    values = pl.Series("x", np.random.default_rng(3).gamma(2.0, 30.0, 1000))
    for cut, many in ((sj.bins("x", 8), 8), (sj.bins("x", width=20.0), 17), (sj.bins("x", quantiles=4), 4), (sj.bins("x", edges=[10, 50]), 3)):  # fmt: skip
        labels = cut.labels(values)
        known = labels.unique().sort()
        assert len(known) <= many
        place = np.searchsorted(known.to_numpy(), values.to_numpy(), side="right") - 1
        assert known.to_numpy()[place].tolist() == labels.to_list()
    assert set(sj.bins("x", quantiles=4).labels(values).value_counts()["count"]) == {250}
    pooled = sj.bins("x", rare=3).labels(pl.Series(["a", "b", "a", "c", "a", None]))
    assert pooled.to_list() == ["a", "other", "a", "other", "a", None]


def test_states_of_several_columns_are_tuples() -> None:
    """As in `read_log`; one column, in a list or not, is a label itself."""
    table = EVENTS | {"miles": [10, 60, 20, 30, 90]}
    log = sj.read_events(table, state=["state", sj.bins("miles", width=50)])
    assert log.states == (("new", 0), ("old", 50))
    assert sj.read_events(table, state=[sj.bins("miles", width=50)]).states == (0, 50)


def as_events(seed: int, count: int = 4000) -> tuple[dict[str, Any], Any]:
    """Return a run of a machine as a table of events, and its rows."""
    model = machine()
    found = log_of(model, np.full((5, 3), 1.0 / 3.0), count, seed)
    time = np.append(0.0, np.cumsum(found.duration))[:-1]
    table = {"time": time, "state": found.state, "action": found.action, "reward": found.reward}
    return table, found


def test_events_and_transitions_are_one_log(tmp_path: Path) -> None:
    """A run read as events, in any order of its rows and from any source, has the answers of the run read as transitions."""
    table, found = as_events(5)
    log = sj.read_log(dict(zip(found._fields, found, strict=True)) | {"next_state": found.next_state})
    frame = pl.DataFrame(table)
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=1)
    for part, name in ((shuffled[:1000], "1"), (shuffled[1000:], "2")):
        part.write_parquet(tmp_path / f"part-{name}.parquet")
    frame.write_csv(tmp_path / "run.csv")

    class Relation:
        """What has the Arrow interface, and nothing else."""

        def __arrow_c_stream__(self, schema: object = None) -> object:
            return frame.__arrow_c_stream__(schema)

    sources = (frame, frame.lazy(), table, Relation(), tmp_path / "run.csv", tmp_path / "part-*.parquet")
    for source in (*sources, [tmp_path / "part-2.parquet", tmp_path / "part-1.parquet"]):
        read = sj.read_events(source, unit=None)
        assert (len(read), read.censored) == (len(log) - 1, 1)
        assert read.behaviour.rate == pytest.approx(log.behaviour.rate, rel=0.02)
        assert read.improve().policy == log.improve().policy
    told = sentence(lambda: sj.read_events(str(tmp_path / "none-*.csv")), FileNotFoundError)
    assert told.endswith("none-*.csv; give the path of the log")


def test_a_state_without_a_way_out_is_said() -> None:
    """One unit is last seen where no other has been: the model ends up there, which the log says, also as sums; a way out ends it."""
    table: dict[str, list[Any]] = {
        "unit": [0] * 40 + [1] * 4,
        "time": [*range(40), *range(4)],
        "state": ["new", "old"] * 20 + ["old", "odd", "odd", "odd"],
        "reward": [1.0] * 44,
    }
    logs = sj.read_events(table), sj.read_events(pl.LazyFrame(table), keep_rows=False)
    for log in logs:
        assert any(
            each.startswith("the log shows no way out of 'odd' (2 rows), so that its model")
            for each in log.findings
        )
    out = sj.read_events(table | {"state": ["new", "old"] * 20 + ["old", "odd", "odd", "new"]})
    assert not any("no way out" in each for each in out.findings)


# --- Large tables -------------------------------------------------------------------------


def large(seed: int) -> pl.DataFrame:
    """Return 300 events of 17 units in any order, with what goes wrong: missing entries, equal times and repeated rows."""
    rng, size = np.random.default_rng(seed), 300
    columns: dict[str, list[Any]] = {
        "unit": [f"u{unit:02}" if seed % 2 else unit for unit in rng.integers(0, 17, size).tolist()],
        "time": rng.integers(0, 250, size).astype(float).tolist(),
        "wear": (5.0 * rng.random(size)).round(2).tolist(),
        "kind": rng.choice(list("aaaabbbcd"), size).tolist(),
        "action": rng.choice(["run", "fix"], size).tolist(),
        "reward": rng.normal(size=size).tolist(),
        "ended": (rng.random(size) < 0.5).tolist(),
    }
    for name in ("unit", "time", "wear", "kind", "action", "reward"):
        columns[name][int(rng.integers(size))] = None
    frame = pl.DataFrame(columns)
    return pl.concat([frame, frame.head(5)])


def without_examples(sentences: tuple[str, ...]) -> set[str]:
    return {re.sub(r"such as .*?(;|, and)", "", each) for each in sentences}


@pytest.mark.parametrize("ends", ["censored", "renew", "ended"])
def test_a_table_in_pieces_is_the_log_of_its_rows(
    ends: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """States, counts, models, gains and all that is said are the same as in memory, also where units follow one another."""
    monkeypatch.setattr(pieces, "PIECE", 40)
    cuts: list[Any] = [sj.bins("wear", width=0.5), sj.bins("wear", width=0.05), ["kind", sj.bins("wear", 3)]]
    cuts.append([sj.bins("kind", rare=60), sj.bins("wear", quantiles=4)])
    for seed, cut in enumerate(cuts):
        frame = large(seed)
        frame[:100].write_parquet(tmp_path / "part-1.parquet")
        frame[100:].write_parquet(tmp_path / "part-2.parquet")
        source: Any = tmp_path / "part-*.parquet" if seed == 0 else frame.lazy()
        given: dict[str, Any] = {
            "state": cut,
            "ends": ends,
            "earning": 0.5,
            "reward": lambda row: 2.0 * row["reward"],
        }
        whole, added = (
            sj.read_events(source, **given, amounts={"cost": "wear"}, flows={"hours": 24.0}, keep_rows=keeps)
            for keeps in (True, False)
        )
        assert (repr(added.states), added.counts(), repr(added)) == (
            repr(whole.states),
            whole.counts(),
            repr(whole),
        )
        assert without_examples(added.refused) == without_examples(whole.refused)
        more = without_examples(added.findings) - without_examples(whole.findings)
        assert len(more) == 2
        assert without_examples(whole.findings) < without_examples(added.findings)
        assert any("of 305 rows was read piece by piece" in each for each in more)
        one, other = (log.with_action("new", reward=-1.0, duration=1.0) for log in (whole, added))
        for name in ("reward", "duration", "squares", "cell_share", "cell_sums"):
            assert getattr(other.fit, name) == pytest.approx(getattr(one.fit, name), rel=1e-9, abs=1e-9)
        for name in ("rate", "observed", "duration"):
            assert getattr(added.behaviour, name) == pytest.approx(getattr(whole.behaviour, name), rel=1e-9)
        for name in whole.amounts:
            assert added.behaviour.amounts[name].rate == pytest.approx(
                whole.behaviour.amounts[name].rate, rel=1e-9
            )


def test_only_large_tables_become_sums(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By themselves those of many rows; `keep_rows` decides, and what cannot be added up is said in one sentence."""
    table = pl.DataFrame(EVENTS)
    table.write_parquet(tmp_path / "events.parquet")
    file = tmp_path / "events.parquet"
    assert not sj.read_events(file).is_of_sums
    monkeypatch.setattr(pieces, "MOST_ROWS", 4)
    assert sj.read_events(file).is_of_sums
    assert not sj.read_events(file, keep_rows=True).is_of_sums
    assert not sj.read_events(file, until=9).is_of_sums
    for call in (
        lambda: sj.read_events(table, keep_rows=False),
        lambda: sj.read_events(file, until=9, keep_rows=False),
    ):
        assert sentence(call, ValueError).startswith(
            "keep_rows is False, but this table must keep its rows; only Parquet"
        )
    told = sentence(lambda: sj.read_events(file, unit="unti", keep_rows=False), ValueError)
    assert told == "the log has no column 'unti' for the unit; did you mean 'unit'?"
    alone = table.with_columns(unit=pl.int_range(5))
    told = sentence(lambda: sj.read_events(alone.lazy(), keep_rows=False), ValueError)
    assert told.startswith("every row is censored: 5 units have one row each")


# --- The command --------------------------------------------------------------------------


def test_the_command_reads_events(tmp_path: Path) -> None:
    """The same numbers as in Python, in the unit of time; a wrong option is one sentence."""
    table, _ = as_events(6)
    pl.DataFrame(table | {"unit": [1] * 4000}).write_csv(tmp_path / "events.csv")
    columns = {
        "state": "state:count=5",
        "unit": "unit",
        "time": "time",
        "duration": "duration",
        "earning": "-1",
    }
    found = answered_file(tmp_path / "events.csv", columns | {"per": "hour"}, 0.95, None)
    log = sj.read_events(tmp_path / "events.csv", state=sj.bins("state", 5), earning=-1.0, per="hour")
    assert (found.behaviour.rate, found.per) == (log.behaviour.rate, "hour")
    assert any("1 row is censored" in line for line in lines(found))
    asked = [sys.executable, "-c", "from sojourn.cli import main; main()", "log", "events.csv", "--json"]
    asked += ["--time", "time", "--unit", "unit"]
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["behaviour"]["rate"] == pytest.approx(
        sj.read_events(tmp_path / "events.csv").behaviour.rate
    )
    wrong = [
        (columns | {"state": "state:wide=5"}, "the state has 'state:wide=5'; write the column, a colon and count=N, width=N, quantiles=N, rare=N"),
        ({"state": "state", "unit": "unit"}, "the unit belongs to a log of events; name its column of times, too"),
    ]  # fmt: skip
    for given, said in wrong:
        with pytest.raises(ValueError, match=re.escape(said)):
            answered_file(tmp_path / "events.csv", given, 0.95, None)
