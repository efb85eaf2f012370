"""`sojourn rates`: which estimator fits a log."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import sojourn as sj
from sojourn.answers.rates import lines, rated, rated_file, verdict, write
from sojourn.cli.commands import app
from sojourn.exact.logs.log_reader import TimedRewards, read_earnings

PAY = np.repeat([1.0, 4.0], 300)


def log_of(seed: int = 0) -> TimedRewards:
    rng = np.random.default_rng(seed)
    hours = rng.uniform(0.5, 1.5, len(PAY))
    return TimedRewards(PAY * hours + rng.normal(0.0, 0.3, len(PAY)), hours, ())


def test_a_file_is_scored_as_its_columns_are(tmp_path: Path) -> None:
    """CSV and Parquet files get the scores of `choose_rate` on the same numbers; wrong rows are dropped and reported."""
    log = log_of()
    table = pl.DataFrame({"pay": log.rewards, "hours": log.durations})
    table.write_csv(tmp_path / "log.csv")
    wrong = pl.DataFrame({"pay": [None, 1.0], "hours": [1.0, -1.0]})
    pl.concat([table, wrong]).write_parquet(tmp_path / "log.parquet")
    wanted = sj.rates.choose_rate(
        log.rewards, log.durations, [sj.Exponential(0.01), sj.Exponential(0.1), sj.Cumulative()]
    )
    for file, refused in (
        ("log.csv", ()),
        ("log.parquet", ("1 row has no reward (row 601)", "1 row has a negative duration (row 602)")),
    ):
        found = rated_file(
            tmp_path / file,
            reward="pay",
            duration="hours",
            kinds=["Exponential", "Cumulative"],
            step_sizes=[0.01, 0.1],
        )
        assert [one.score for one in found.candidates] == [one.score for one in wanted.scores]
        assert [one.low for one in found.candidates] == [one.low for one in wanted.scores]
        assert found.best == wanted.winner.label == "Exponential(0.1)"
        assert found.rate == pytest.approx(log.rewards.sum() / log.durations.sum())
        assert found.refused == refused


def test_rates_over_time_are_a_meters(tmp_path: Path) -> None:
    """The lines of the figure are a meter's rate before each row, at the row's start time."""
    log = log_of()
    found = rated("log", log, kinds=["Exponential"], step_sizes=[0.1])
    meter, clock, wanted = sj.RateMeter(sj.Exponential(0.1)), 0.0, {}
    for reward, duration in zip(log.rewards, log.durations, strict=True):
        wanted[round(clock, 9)] = meter.rate
        meter.update(reward, duration)
        clock += duration
    (course,) = found.courses
    assert len(course.clock) == 400
    assert [wanted[round(at, 9)] for at in course.clock] == list(course.rate)
    write(found, tmp_path / "out", formats=("svg",))
    assert tmp_path.joinpath("out", "figures", "rates.svg").read_text().startswith("<?xml")
    sj.write_report([tmp_path / "out"], tmp_path / "page.html")
    assert "Which estimator fits log" in tmp_path.joinpath("page.html").read_text()


def test_words_tell_what_can_be_told_apart() -> None:
    """Candidates whose interval contains 0 are called indistinguishable; a best step size at the end of the range is reported."""
    log = log_of()
    found = rated("log", log, kinds=["Exponential"], step_sizes=[0.0001, 0.2, 0.21])
    assert verdict(found) in (
        "Exponential(0.2) is best, but this log cannot tell it apart from Exponential(0.21)",
        "Exponential(0.21) is best, but this log cannot tell it apart from Exponential(0.2)",
    )
    alone = rated("log", log, kinds=["Exponential"], step_sizes=[0.0001, 0.2])
    assert verdict(alone) == "Exponential(0.2) is clearly the best of these"
    assert (
        "best step size of Exponential: 0.2, a memory of about 5 rows; it is the largest that was tried."
        in lines(alone)
    )
    meter = sj.RateMeter(sj.Exponential(0.2))
    for reward, duration in zip(log.rewards, log.durations, strict=True):
        meter.update(reward, duration)
    assert f"At the end of the log, Exponential(0.2) estimates {meter.rate:.6g} per unit time." in lines(
        alone
    )
    wild = rated(
        "log",
        log._replace(durations=np.full(600, 5.0)),
        kinds=["Incremental", "Cumulative"],
        step_sizes=[0.9],
    )
    (row,) = (line.split() for line in lines(wild) if line.startswith("Incremental(0.9)"))
    assert row == ["Incremental(0.9)", "-", "-", "-", "-"]
    assert "Estimates that grew without bound have no score." in " ".join(lines(wild))


def test_the_command(tmp_path: Path) -> None:
    """The command prints the record as JSON, and refuses unusable input in one sentence."""
    log = log_of()
    file = tmp_path / "log.csv"
    pl.DataFrame({"reward": log.rewards, "duration": log.durations}).write_csv(file)
    runner = CliRunner()
    told = runner.invoke(
        app, ["rates", str(file), "--step-sizes", "0.1,0.01", "--estimators", "Exponential", "--json"]
    )
    found = json.loads(told.output)
    assert found["best"] == "Exponential(0.1)"
    assert [one["step_size"] for one in found["candidates"]] == [0.01, 0.1]
    for arguments, sentence in (
        (["--reward", "rewards"], "the log has no column 'rewards' for the reward; did you mean 'reward'?"),
        (["--estimators", "Exponentail"], "there is no estimator 'Exponentail'; did you mean 'Exponential'?"),
        (["--step-sizes", "2"], "--step-sizes has '2'; step sizes are numbers above 0 and at most 1"),
        (
            ["--estimators", ""],
            "there is nothing to compare; name at least one estimator, and a step size if it has one",
        ),
    ):
        wrong = runner.invoke(app, ["rates", str(file), *arguments])
        assert str(wrong.exception) == sentence
    with pytest.raises(ValueError, match="no row that can be used: 2 rows have no duration"):
        read_earnings({"reward": [1.0, 2.0], "duration": [None, None]})


@pytest.mark.parametrize(
    ("rewards", "durations", "sentence"),
    [
        ([1.0], [2.0], "log.csv has 1 row; at least 100 are needed to choose an estimator"),
        ([1.0] * 3, [2.0] * 3, "log.csv has 3 rows; at least 100 are needed to choose an estimator"),
        (
            [1.0, None],
            [2.0, 2.0],
            "log.csv has 1 usable row, and at least 100 are needed to choose an estimator; "
            "1 row was left out: 1 row has no reward (row 2)",
        ),
        (
            [1.0, 1.0, None, None, 1.0, 1.0],
            [2.0, 2.0, 2.0, 2.0, -1.0, None],
            "log.csv has 2 usable rows, and at least 100 are needed to choose an estimator; 4 rows were left out: "
            "2 rows have no reward (rows 3, 4), 1 row has no duration (row 6) and 1 row has a negative duration (row 5)",
        ),
    ],
)
def test_too_few_rows_say_which_were_left_out(
    tmp_path: Path, rewards: list[float | None], durations: list[float | None], sentence: str
) -> None:
    """With too few rows, the error says how many remain, and how many were dropped for which reasons."""
    file = tmp_path / "log.csv"
    pl.DataFrame({"reward": rewards, "duration": durations}).write_csv(file)
    wrong = CliRunner().invoke(app, ["rates", str(file)])
    assert str(wrong.exception) == sentence
