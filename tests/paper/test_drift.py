"""The study of change: its choices, measurements, predictions and folder."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import optimize

import sojourn as sj
from interpreting import interpreted
from sojourn.answers.page import write_report
from sojourn.report.words import number
from sojourn_paper.drift import control, family, plan, tables, tracking, trend
from sojourn_paper.drift import section as words
from sojourn_paper.drift.plan import FIRST_TUNING_SEED, Size
from sojourn_paper.robustness.tables import even, realised

SMALL = Size(
    streams=2,
    worlds=3,
    seeds=1,
    steps=110,
    time=400.0,
    histories=4,
    estimators=("Exponential", "ClippedExponential", "Harmonic", "Cumulative", "AdaptiveRatio"),
    agents=("smart", "relaxed_smart"),
    others=(),
)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small study."""
    found = tmp_path_factory.mktemp("drift") / "out"
    with interpreted():  # so few steps are quicker so
        words.drift(found, SMALL, jobs=2, formats=("png",))
    return found


def test_the_folder_is_complete_and_a_second_run_changes_nothing(out: Path) -> None:
    """Tables, figures, README and summary exist; a second run reuses all measurements and gives the same numbers."""
    assert {"README.md", "summary.json", "tables", "figures", "sweep", "named", "family", "streams"} == {
        path.name for path in out.iterdir()
    }
    assert len(list((out / "figures").iterdir())) == 6  # without that of an agent which is not run here
    assert all(path.stat().st_size > 5000 for path in (out / "figures").iterdir())
    before = json.loads((out / "summary.json").read_text())
    parts = {path: path.stat().st_mtime_ns for path in (out / "streams").iterdir()}
    words.drift(out, SMALL, jobs=1, formats=())
    assert {path: path.stat().st_mtime_ns for path in (out / "streams").iterdir()} == parts
    after = json.loads((out / "summary.json").read_text())
    assert {**after, "seconds": 0.0} == {**before, "seconds": 0.0}


def test_the_page_has_the_study(out: Path, tmp_path: Path) -> None:
    """The section has the findings, and an unfinished study is reported as such."""
    page = write_report([out], tmp_path / "report.html").read_text()
    assert "Drift: when rewards and durations change" in page
    assert "To follow a rate without tuning, take AdaptiveRatio" in page
    begun = tmp_path / "begun"
    (begun / "sweep").mkdir(parents=True)
    (begun / "sweep" / "sweep.json").write_text('{"name": "drift"}')
    with pytest.raises(ValueError, match="holds a study that is not finished"):
        write_report([begun], tmp_path / "other.html")


def test_shares_are_what_runs_in_these_worlds_earn(out: Path) -> None:
    """A share in the table equals that of the run itself: reward over what the best policy at each time would have earned."""
    runs = sj.load_results(out / "sweep").filter((pl.col("agent") == "smart") & (pl.col("number") == 2.0))
    row = runs.filter((pl.col("mirrored") == "yes") & (pl.col("seed") == 0)).row(3, named=True)
    world = sj.worlds.changes.random_changes(2, mirrored=True)
    agent = sj.smart(
        world.num_states, world.num_actions, step_size=row["step_size"], exploration=row["exploration"]
    )
    run = sj.run(world, agent, steps=row["steps"], seed=0, compiled=False)
    assert (row["reward"], row["dynamic_regret"]) == (run.reward, run.dynamic_regret)
    assert run.duration >= 400.0  # the planned end of the clock
    share = control.shares(runs).filter((pl.col("mirrored") == "yes") & (pl.col("tuning").is_not_null()))
    assert run.reward / run.truth.owed in share["share"].to_list()  # type: ignore[union-attr]


def runs_of(world: float, shares: dict[tuple[float, int], float]) -> list[dict[str, Any]]:
    """Rows of results with these shares, by step size and seed, of a best reward of 10."""
    return [
        {
            "world": "random_changes",
            "number": world,
            "mirrored": "no",
            "agent": "smart",
            "step_size": size,
            "seed": seed,
            "reward": 10.0 * share,
            "dynamic_regret": 10.0 - 10.0 * share,
            "tracking_error": 1.0,
        }
        for (size, seed), share in shares.items()
    ]


def test_agents_are_tuned_on_other_seeds_than_they_are_measured_on() -> None:
    """The setting that is best on the tuning seeds is chosen, even if another is better on the rest; or one for all."""
    tune = FIRST_TUNING_SEED
    rows = runs_of(0.0, {(0.1, 0): 0.5, (0.1, tune): 0.9, (0.3, 0): 0.8, (0.3, tune): 0.6})
    rows += runs_of(1.0, {(0.1, 0): 0.7, (0.1, tune): 0.2, (0.3, 0): 0.4, (0.3, tune): 0.8})
    found = control.chosen(control.shares(pl.DataFrame(rows)))
    shares = {(row["number"], row["how"]): row["share"] for row in found.iter_rows(named=True)}
    assert shares == pytest.approx(
        # over both worlds 0.3 is better on the tuning seeds: 1.4 against 1.1
        {(0.0, "tuned"): 0.5, (1.0, "tuned"): 0.4, (0.0, "one setting"): 0.8, (1.0, "one setting"): 0.4}
    )


def test_harmonic_is_set_beside_the_same_agent_with_a_ratio() -> None:
    """By hand: a lead of 0.1 and -0.3 where the longest is best, of -0.2 in a mirror; first of all agents in one world."""
    shares = {
        (0.0, "no"): (0.9, 0.8, 0.5),
        (1.0, "no"): (0.6, 0.9, 0.7),
        (0.0, "yes"): (0.5, 0.7, 0.6),
    }
    rows = [
        {"number": number, "mirrored": mirrored, "agent": agent, "share": share, "how": "tuned"}
        for (number, mirrored), found in shares.items()
        for agent, share in zip(("harmonic_r", "relaxed_smart", "smart"), found, strict=True)
    ]
    kinds = pl.DataFrame({"number": [0.0, 1.0], "kind": ["longest", "longest"]})
    found = control.bet(pl.DataFrame(rows), kinds)
    assert found.select("kind", "side", "worlds", "first").rows() == [
        ("longest", "world", 2, 1),
        ("longest", "mirror", 1, 0),
    ]
    assert found["ahead"].to_list() == pytest.approx([-0.1, -0.2])


def test_errors_and_scores_by_a_meter() -> None:
    """Errors and scores match a meter that is read before every transition; the error omits the first 100 steps."""
    stream = tracking.make("switch-often", 3, 180)
    meter, squares, scores = sj.RateMeter(sj.Exponential(0.1)), [], []
    for k in range(180):
        rho = meter.rate
        squares.append(stream.lasted[k] * (rho - stream.truth[k]) ** 2)
        scores.append(0.5 * stream.durations[k] * rho**2 - stream.rewards[k] * rho)
        meter.update(stream.rewards[k], stream.durations[k])
    error, score = tracking.errors(sj.Exponential(0.1), stream)
    assert error == pytest.approx(sum(squares[100:]) / stream.lasted[100:].sum(), rel=1e-12)
    assert score == pytest.approx(sum(scores) / 180, rel=1e-12)


def test_step_sizes_are_chosen_by_truth_by_score_or_once_for_all() -> None:
    """By hand: two streams, two step sizes; errors are over the least that Exponential has on the same stream."""
    columns = ["stream", "estimator", "step_size", "error", "tuning_error", "tuning_score"]
    table = pl.DataFrame(
        [
            ("0", "Exponential", 0.01, 2.0, 1.0, -5.0),
            ("0", "Exponential", 0.1, 4.0, 3.0, -7.0),
            ("1", "Exponential", 0.01, 9.0, 8.0, -2.0),
            ("1", "Exponential", 0.1, 3.0, 2.0, -1.0),
            ("0", "AdaptiveRatio", None, 3.0, 1.0, 0.0),
            ("1", "AdaptiveRatio", None, 3.0, 1.0, 0.0),
        ],
        schema=columns,
        orient="row",
    )
    found = {
        (row["stream"], row["estimator"], row["how"]): row["relative"]
        for row in tracking.relative(table).iter_rows(named=True)
    }
    assert found == {
        # 0.1 for all: its errors on the tuning seeds are 3 x 1 times the least, those of 0.01 are 1 x 4
        ("0", "Exponential", "one setting"): 2.0,
        ("1", "Exponential", "one setting"): 1.0,
        ("0", "Exponential", "by truth"): 1.0,
        ("1", "Exponential", "by truth"): 1.0,
        ("0", "Exponential", "by score"): 2.0,
        ("1", "Exponential", "by score"): 3.0,
        ("0", "AdaptiveRatio", "one setting"): 1.5,
        ("1", "AdaptiveRatio", "one setting"): 1.0,
    }


def test_fits_are_those_of_scipy() -> None:
    """Parameters and BIC of each shape match SciPy's least squares, and the weights follow from BIC."""
    rng = np.random.default_rng(5)
    t = np.sort(rng.uniform(0.0, 900.0, 300))
    y = (20.0 + 0.3 * t) * np.exp(rng.normal(0.0, 0.2, len(t)))
    shapes = {
        "constant": (lambda p: np.full(len(t), p[0]), [4.0]),
        "exponential": (lambda p: p[0] + p[1] * t, [4.0, 1e-3]),
        "power": (lambda p: p[0] + p[1] * np.log1p(t), [2.0, 0.5]),
        "linear": (lambda p: np.log(np.maximum(p[0] + p[1] * t, 1e-9)), [10.0, 0.5]),
    }
    found = {fit.shape: fit for fit in trend.fitted(t, y).fits}
    for name, (model, first) in shapes.items():
        best = optimize.least_squares(
            lambda p, model=model: np.log(y) - model(p), first, xtol=1e-14, ftol=1e-14
        )
        assert found[name].numbers == pytest.approx(best.x, rel=1e-5)
        wanted = len(t) * math.log(2.0 * best.cost / len(t)) + len(first) * math.log(len(t))
        assert found[name].bic == pytest.approx(wanted, rel=1e-9)
    weights = {name: math.exp(-fit.bic / 2.0 + found["linear"].bic / 2.0) for name, fit in found.items()}
    mean = sum(weights[name] * fit.log_at(5000.0) for name, fit in found.items()) / sum(weights.values())
    assert trend.fitted(t, y).log_at(5000.0) == pytest.approx(mean, rel=1e-9)
    assert trend.fitted(t, y).best.shape == "linear"
    with pytest.raises(ValueError, match="2 values are above 0; a trend needs at least 3"):
        trend.fitted(np.arange(4.0), np.array([0.0, 1.0, -1.0, 2.0]))


def test_histories_are_the_familys() -> None:
    """A's rewards are 0.05 t and B's oscillate around 10^(v t + 1); each is taken in half of the visits, depending on the seed."""
    a, b = family.histories(1e-3, 4)
    assert a.rewards == pytest.approx(0.05 * a.steps, rel=1e-12)
    assert b.rewards == pytest.approx((np.sin(b.steps) + 10.0) * 10.0 ** (1e-3 * b.steps), rel=1e-9)
    assert len(a.steps) + len(b.steps) == family.EPISODES * family.SEEN // 2
    assert abs(len(a.steps) - 1000) < 4 * math.sqrt(500)
    _, linear = family.histories(1e-3, 4, linear=True)
    grown = 1.0 + math.log(10.0) * 1e-3 * b.steps
    assert linear.rewards == pytest.approx((np.sin(b.steps) + 10.0) * grown, rel=1e-9)


def test_the_threshold_of_what_was_earned() -> None:
    """B earned more on the steps seen from v = 0.002775 on, and not before."""
    found = even(realised(1000, 5), 1000, 5)
    assert found == pytest.approx(family.EVEN, rel=5e-4)
    assert even(realised(40, 1).filter(pl.col("log_scale") < 1e-4).clear(), 40, 1) is None


def test_words_have_the_tables_numbers(out: Path) -> None:
    """The README has the trend's smallest share, and each agent's share in worlds and mirrors."""
    found, text = tables.STUDY.read(out), (out / "README.md").read_text()
    for row in found.control.filter(pl.col("kind") == "all").iter_rows(named=True):
        assert " | ".join(number(row[name], 3) for name in ("share", "low", "high")) in text
    least = found.foretold.filter(pl.col("world") == family.WORLDS[0])["by_trend"].to_numpy().min()
    told = "all of them" if least == 1.0 else f"at least {100 * least:.0f} % of them"
    assert f"at step 10,000 in {told} (fewest" in " ".join(text.split())
    headlines = words.headlines(_summary(out))
    assert sum("SMART" in line for line in headlines) == 4  # two agents, in worlds and in mirrors


def _summary(out: Path) -> Any:
    from sojourn.data.files import load_json
    from sojourn.data.hints import read_record
    from sojourn_paper.drift.tables import Summary

    return read_record(Summary, load_json(out / "summary.json"))


def test_one_setting_is_one_of_the_grids(out: Path) -> None:
    """The common setting is from the grid, and the same in every world."""
    found = tables.STUDY.read(out).settings
    assert set(found["agent"]) == set(SMALL.agents)
    assert found["step_size"].is_in([0.1, 0.3, 0.9]).all()
    assert plan.step_sizes("Exponential")[0] == 1e-4
