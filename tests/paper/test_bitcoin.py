"""The Bitcoin study as a user runs it, on short segments, and the computations behind its tables and text."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import sojourn as sj
from asking import Answer, ask
from saying import said
from sojourn.runs import tasks
from sojourn.runs.executors import executor
from sojourn.runs.spec import Entry, Sweep, parse_sweep
from sojourn.runs.store import run_sweep
from sojourn.runs.tasks import execute
from sojourn.worlds.market.instruments import market_segment
from sojourn.worlds.market.world import Market
from sojourn_paper.bitcoin import plan, tables
from sojourn_paper.bitcoin import section as words
from sojourn_paper.bitcoin import tables as summary
from sojourn_paper.bitcoin.durations import deciding_rate, scaled_durations
from worlds.test_market import HarmonicByShares

SEGMENTS, SEEDS, LENGTH = [0, 3, 9, 300], 3, 1200
CELLS = len(SEGMENTS) * 2 * 2 * 8  # segments, rules, state sizes, settings of agents


def reproduce(out: Path, *more: str, formats: str = "") -> Answer:
    size = ("--segment-length", str(LENGTH), "--seeds", str(SEEDS), "--state-sizes", "3,6")
    return ask("reproduce", "bitcoin", *size, "--formats", formats, "--out", out, *more)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study of four short segments of the synthetic market."""
    out = tmp_path_factory.mktemp("bitcoin") / "out"
    done = reproduce(out, "--segments", "0,3,9,300", formats="svg,pdf")
    assert done.returncode == 0, done.stderr
    assert "synthetic" in done.stdout
    return out


def test_everything_is_there(folder: Path) -> None:
    """The folder has tables, a summary, a README and every figure in the requested formats."""
    drawn = {path.name for path in (folder / "figures").iterdir()}
    names = ["1-win-ratios", "2-win-ratios-control", "3-differences", "4-durations"]
    names += [f"5-curves-{rule}-{size}" for rule in plan.RULES for size in (3, 6)]
    assert drawn == {f"{name}.{kind}" for name in names for kind in ("svg", "pdf")}
    assert (folder / "README.md").exists()


def test_synthetic_data_is_called_so_everywhere(folder: Path) -> None:
    """The README, the summary and every figure say that the data is synthetic."""
    assert "**The data is synthetic**" in (folder / "README.md").read_text()
    assert json.loads((folder / "summary.json").read_text())["data"]["synthetic"] is True
    for name in (folder / "figures").glob("*.svg"):
        # Text is drawn as paths; matplotlib keeps it in a comment.
        assert "synthetic" in name.read_text(), name


def test_the_tables_have_the_promised_columns(folder: Path) -> None:
    """Results have a row for each run, curves one for each cell and point."""
    table = pl.read_parquet(folder / "results.parquet")
    wanted = {"segment", "duration_rule", "state_size", "agent", "rate_step_size", "seed", "greedy_reward"}
    assert wanted | {"reward", "duration", "rate", "steps"} <= set(table.columns)
    assert table.height == CELLS * SEEDS
    assert table["steps"].unique().to_list() == [LENGTH]
    curves = pl.read_parquet(folder / "curves.parquet")
    names = ["segment", "duration_rule", "state_size", "agent", "rate_step_size", "step", "mean", "std"]
    assert curves.columns == names
    assert curves.height == CELLS * plan.POINTS
    assert curves.null_count().select(pl.exclude("rate_step_size")).sum_horizontal().item() == 0


def test_the_oracle_agrees_on_a_sample_of_runs(folder: Path) -> None:
    """On 40 random runs of all agents, plain Python gives the same greedy reward, reward, duration and rate."""
    rows = pl.read_parquet(folder / "results.parquet").sample(40, seed=5).to_dicts()
    assert {row["agent"] for row in rows} == set(plan.NAMES)
    for row in rows:
        outcome, _ = oracle(row, row["seed"], points=[])
        for name in ("greedy_reward", "reward", "duration", "rate", "greedy_steps"):
            assert row[name] == getattr(outcome, name), (name, row)


def test_the_oracle_agrees_on_curves(folder: Path) -> None:
    """Mean and deviation over seeds along a segment match plain Python's runs."""
    curves = pl.read_parquet(folder / "curves.parquet")
    keys = ["segment", "duration_rule", "state_size", "agent", "rate_step_size"]
    for row in curves.select(keys).unique(maintain_order=True).sample(6, seed=2).to_dicts():
        step_size = pl.col("rate_step_size").eq_missing(pl.lit(row["rate_step_size"], pl.Float64))
        same = [pl.col(key) == row[key] for key in keys[:-1]]
        cell = curves.filter(*same, step_size).sort("step")
        assert cell["step"].to_list() == sj.runs.evenly_spaced(LENGTH, plan.POINTS).tolist()
        runs = [oracle(row, seed, points=cell["step"].to_list())[1] for seed in range(SEEDS)]
        for index in (0, 400, 999):
            mean, deviation = naive.mean_and_deviation([run[index] for run in runs])
            assert cell["mean"][index] == pytest.approx(mean, rel=1e-12, abs=1e-12)
            assert cell["std"][index] == pytest.approx(deviation, rel=1e-9, abs=1e-12)


def oracle(row: dict[str, Any], seed: int, points: list[int]) -> tuple[naive.Outcome, list[float]]:
    """Return the oracle's result for a run of the study."""
    bars = market_segment(segment=row["segment"], segment_length=LENGTH)
    opens = [0.0] * len(bars.moves)
    world = naive.Market(
        opens, bars.moves.tolist(), state_size=row["state_size"], duration=row["duration_rule"]
    )
    settings = naive.Settings(2 ** row["state_size"], 2, 0.001, naive.Exploration(0.2, factor=0.999))
    if row["agent"] == "harmonic_r":
        agent = naive.Agent(settings, HarmonicByShares(row["rate_step_size"]))
    else:
        own = () if row["rate_step_size"] is None else (row["rate_step_size"],)
        agent = getattr(naive, row["agent"])(settings, *own)
    return naive.run_market(agent, world, steps=LENGTH, seed=seed, points=points)


def test_win_ratios_are_those_of_the_table(folder: Path) -> None:
    """Harmonic's wins in the summary match a count from the results."""
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["study"] == "bitcoin"
    assert summary["steps"] == CELLS * SEEDS * LENGTH
    assert summary["data"]["segments"] == len(SEGMENTS)
    final: dict[tuple[Any, ...], list[float]] = {}
    for row in pl.read_parquet(folder / "results.parquet").iter_rows(named=True):
        key = tuple(
            row[name] for name in ("segment", "duration_rule", "state_size", "agent", "rate_step_size")
        )
        final.setdefault(key, []).append(row["greedy_reward"])
    for rule in plan.RULES:
        for opponent in plan.OPPONENTS:
            for size in (3, 6):
                for step in (0.01, 0.05, 0.1):
                    other = step if opponent == "relaxed_smart" else None
                    wins = sum(
                        math.fsum(final[number, rule, size, "harmonic_r", step])
                        > math.fsum(final[number, rule, size, opponent, other])
                        for number in SEGMENTS
                    )
                    ratio = summary["win_ratio"][rule][opponent][str(size)][f"{step:g}"]
                    assert ratio == wins / len(SEGMENTS), (rule, opponent, size, step)
                    low, high = summary["win_interval"][rule][opponent][str(size)][f"{step:g}"]
                    assert low <= ratio <= high


def test_running_again_changes_nothing_and_another_study_is_refused(folder: Path) -> None:
    """Repeating the command reuses all runs; other options in the same folder are refused in one sentence."""
    before = (folder / "results.parquet").read_bytes(), (folder / "curves.parquet").read_bytes()
    assert reproduce(folder, "--segments", "0,3,9,300").returncode == 0
    assert before == ((folder / "results.parquet").read_bytes(), (folder / "curves.parquet").read_bytes())
    other = reproduce(folder, "--segments", "1")
    assert other.returncode == 1
    assert "holds another sweep" in other.stderr
    assert len(said(other.stderr)) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--segments", "0-x"), "it must be numbers and ranges"),
        (("--segments", "5-3"), "and its ranges ascending"),
        (("--segments", "900"), "there is no segment 900; the data has the segments 0 to 874"),
        (("--state-sizes", "0"), "its numbers must be at least 1"),
        (("--state-sizes", "21"), "state_size is 21; it must be at most 20"),
        (("--data", "nowhere.csv"), "nowhere.csv"),
        (("--formats", "png,gif"), "'gif' is not a format for figures; choose from png, svg, pdf"),
    ],
)
def test_wrong_options_get_one_sentence(tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    """A wrong option is named in one sentence, and no folder is created."""
    done = reproduce(tmp_path / "out", *options)
    assert done.returncode == 1
    assert words in done.stderr
    assert len(said(done.stderr)) == 1
    assert not (tmp_path / "out").exists()


# --- A user's own file ---


def bars_file(path: Path, count: int, seed: int = 0) -> Path:
    rng = np.random.default_rng(seed)
    close = np.round(100 * np.exp(np.cumsum(1e-3 * rng.standard_t(3, count))), 2)
    time = 1_600_000_000 // 60 * 60 + 60 * np.arange(count)
    frame = pl.DataFrame({"Timestamp": time, "Open": np.append(close[:1], close[:-1]), "Close": close})
    frame.write_csv(path)
    return path


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    """The study runs on a user's CSV file with a shorter last segment, in both readings of scaled, and names the file."""
    path = bars_file(tmp_path / "mine.csv", 1000)
    done = reproduce(tmp_path / "out", "--data", str(path), "--segment-length", "400", "--by-magnitude")
    assert done.returncode == 0, done.stderr
    table = pl.read_parquet(tmp_path / "out" / "results.parquet")
    assert table.group_by("segment").agg(pl.col("steps").first()).sort("segment").rows() == [
        (0, 400),
        (1, 400),
        (2, 200),
    ]
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (summary["data"]["name"], summary["data"]["synthetic"], summary["scaled_by"]) == (
        "mine.csv",
        False,
        "magnitude",
    )
    assert "synthetic" not in (tmp_path / "out" / "README.md").read_text()


def test_cells_are_known_by_the_data_and_not_by_its_place(tmp_path: Path) -> None:
    """A copy of a file gives the same cells; a changed file at the same path is another sweep."""
    first = bars_file(tmp_path / "one.csv", 500)
    (tmp_path / "two.csv").write_bytes(first.read_bytes())
    ids = []
    for name in ("one", "two"):
        sweep = own_sweep(str(tmp_path / f"{name}.csv"))
        with executor(2) as (pool, width):
            run_sweep(sweep, tmp_path / name, pool, width)
        ids.append(sj.load_results(tmp_path / name)["cell"].to_list())
    assert ids[0] == ids[1]
    bars_file(first, 500, seed=1)
    with executor(2) as (pool, width), pytest.raises(ValueError, match="holds another sweep"):
        run_sweep(own_sweep(str(first)), tmp_path / "one", pool, width)


def own_sweep(data: str, **more: Any) -> Sweep:
    return Sweep(
        worlds=[Entry("market", {"data": data, "segment_length": 300.0, "segment": [0.0, 1.0]})],
        agents=[Entry("harmonic_r", {"rate_step_size": [0.01, 0.1]})],
        seeds=[0, 1, 2, 5],
        record=7,
        **more,
    )


@pytest.mark.parametrize("spacing", ["log", "even"])
def test_mean_curves_are_the_means_of_curves(tmp_path: Path, spacing: str) -> None:
    """The curves accumulated while running equal the mean and the sample deviation of single curves."""
    data = str(bars_file(tmp_path / "bars.csv", 500))
    for curves in ("each", "mean"):
        with executor(2) as (pool, width):
            run_sweep(own_sweep(data, spacing=spacing, curves=curves), tmp_path / curves, pool, width)
    each = pl.read_parquet(tmp_path / "each" / "curves.parquet")
    folded = pl.read_parquet(tmp_path / "mean" / "curves.parquet")
    assert folded["step"].max() == 300
    assert folded.height * 4 == each.height
    for name in ("reward", "greedy_reward", "clock", "rate"):
        wanted = each.group_by("cell", "step", maintain_order=True).agg(
            mean=pl.col(name).mean(), std=pl.col(name).std()
        )
        both = folded.join(wanted, on=["cell", "step"])
        assert both.height == folded.height
        np.testing.assert_allclose(both[f"{name}_mean"], both["mean"], rtol=1e-12)
        np.testing.assert_allclose(both[f"{name}_std"], both["std"], rtol=1e-9, atol=1e-12)


def test_worlds_run_to_their_own_end() -> None:
    """Without `steps`, a market runs to its last bar; a world without a natural length is refused."""
    table = {"kind": "market", "segment_length": 600_000, "segment": [0, 1], "state_size": [3, 5]}
    data: dict[str, Any] = {"seeds": 2, "world": [table], "agent": [{"kind": "smart"}]}
    assert parse_sweep(data).num_steps == 2 * 2 * (600_000 + 450_000)
    with pytest.raises(ValueError, match="no length of its own, so 'steps' is needed"):
        parse_sweep({**data, "world": [{"kind": "two-state", "log_scale": 0.01}]})
    with pytest.raises(ValueError, match="segment is 2; synthetic has the segments 0 to 1"):
        parse_sweep({**data, "world": [{**table, "segment": [0, 2]}]})
    with pytest.raises(ValueError, match="curves is 'some'; it must be each or mean"):
        parse_sweep({**data, "curves": "some"})


# --- What the reading rests on ---


def pairs_of(*wins: tuple[int, int], segments: int = 20) -> pl.DataFrame:
    """Made-up differences: for each pair (wins, losses), a cell against SMART and one against the others."""
    rows = []
    for size, (won, lost) in enumerate(wins):
        signs = [1.0] * won + [-1.0] * lost + [0.0] * (segments - won - lost)
        for opponent in plan.OPPONENTS:
            rows += [
                {
                    "opponent": opponent,
                    "segment": number,
                    "duration_rule": "scaled",
                    "state_size": size,
                    "rate_step_size": 0.05,
                    "difference": sign,
                    "error": 0.1,
                }
                for number, sign in enumerate(signs)
            ]
    return pl.DataFrame(rows)


def test_a_verdict_counts_what_is_certain() -> None:
    """A cell is certain if its sign test, corrected over both of the paper's agents, is below 0.05."""
    ratios = tables.win_ratios(pairs_of((20, 0), (15, 5), (0, 20), (10, 10), (8, 2)))
    found = summary.verdict(ratios, "scaled", "smart")
    # Ten tests, two of each: p = 2^-19 twice over is certain; 15 of 20 has p = 0.0414, times at least 6.
    assert (found["cells"], found["ahead"], found["ties"]) == (5, 3, 10)
    assert (found["certain_wins"], found["certain_losses"]) == (1, 1)
    assert found["smallest_p"] == pytest.approx(10 * 2.0**-19)
    assert found["mean"] == pytest.approx((1.0 + 0.75 + 0.0 + 0.5 + 0.4) / 5)
    assert found["decidable"]
    control = summary.verdict(ratios, "scaled", "fixed_rate")
    assert control["smallest_p"] == pytest.approx(5 * 2.0**-19)


def test_too_few_segments_decide_nothing() -> None:
    """With two tests, seven segments can be enough for certainty, six cannot."""
    for segments, enough in ((5, False), (6, False), (7, True)):
        ratios = tables.win_ratios(pairs_of((segments, 0), segments=segments))
        assert summary.verdict(ratios, "scaled", "smart")["decidable"] == enough
        assert (summary.verdict(ratios, "scaled", "smart")["certain_wins"] == 1) == enough


def test_what_is_no_number_is_no_win() -> None:
    """A NaN difference, from a run that diverged, counts as a tie."""
    pairs = pairs_of((3, 1), segments=4).with_columns(
        difference=pl.when(pl.col("segment") == 0).then(float("nan")).otherwise(pl.col("difference"))
    )
    first = tables.win_ratios(pairs).row(0, named=True)
    assert (first["wins"], first["losses"], first["segments"]) == (2, 1, 4)


@pytest.mark.parametrize(
    ("wins", "random", "scaled"),
    [
        ([(20, 0)] * 4, "does not hold", "This holds on this data"),
        ([(0, 20)] * 4, "does not contradict", "does not hold on this data"),
        ([(20, 0), (11, 9), (11, 9), (11, 9)], "holds with exceptions", "holds in part"),
        ([(11, 9)] * 4, "does not contradict", "is not supported"),
    ],
)
def test_the_words_follow_the_numbers(wins: list[tuple[int, int]], random: str, scaled: str) -> None:
    """Each of the paper's statements is judged by the number of certain cells, and of cells ahead."""
    one = {
        name: summary.verdict(tables.win_ratios(pairs_of(*wins)), "scaled", name) for name in plan.OPPONENTS
    }
    first, second = words._judged({"random": one, "scaled": one})
    assert random in first["verdict"]
    assert scaled in second["verdict"]
    few = {
        name: summary.verdict(tables.win_ratios(pairs_of((2, 0), segments=2)), "scaled", name)
        for name in plan.OPPONENTS
    }
    assert all(
        "too few to decide" in told["verdict"] for told in words._judged({"random": few, "scaled": few})
    )


def test_differences_are_paired_by_seed(folder: Path) -> None:
    """Mean and standard error are of Harmonic's value minus the other's, seed by seed."""
    runs = pl.read_parquet(folder / "results.parquet")
    for row in tables.paired(runs).sample(10, seed=1).iter_rows(named=True):
        own = [pl.col(name) == row[name] for name in ("segment", "duration_rule", "state_size")]
        step = pl.col("rate_step_size") == row["rate_step_size"]
        ours = runs.filter(*own, step, pl.col("agent") == "harmonic_r").sort("seed")["greedy_reward"]
        other = pl.col("agent") == row["opponent"]
        other = other & step if row["opponent"] == "relaxed_smart" else other
        theirs = runs.filter(*own, other).sort("seed")["greedy_reward"]
        differences = (ours - theirs).to_numpy()
        assert row["difference"] == pytest.approx(differences.mean(), abs=1e-12)
        assert row["error"] == pytest.approx(differences.std(ddof=1) / math.sqrt(SEEDS), abs=1e-12)


@pytest.mark.parametrize("kind", ["flat", "three bars", "one seed"])
def test_odd_data_is_read_to_the_end(tmp_path: Path, kind: str) -> None:
    """Prices that never move, three bars or one seed give a complete folder without unjustified claims."""
    path = bars_file(tmp_path / "bars.csv", 3 if kind == "three bars" else 300)
    if kind == "flat":
        pl.read_csv(path).with_columns(Open=5.0, Close=5.0).write_csv(path)
    seeds = "1" if kind == "one seed" else "2"
    done = reproduce(tmp_path / "out", "--data", str(path), "--seeds", seeds, "--state-sizes", "3")
    assert done.returncode == 0, done.stderr
    text = " ".join((tmp_path / "out" / "README.md").read_text().split())
    assert "too few to decide" in text
    assert ("nothing to earn" in text) == (kind == "flat")
    assert ("Only one seed was run" in text) == (kind == "one seed")


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    """A folder with other files is refused and left unchanged."""
    (tmp_path / "README.md").write_text("mine")
    done = reproduce(tmp_path)
    assert done.returncode == 1
    assert "is not empty and holds no earlier run" in done.stderr
    assert (tmp_path / "README.md").read_text() == "mine"


def test_a_file_that_changes_while_it_is_used(tmp_path: Path) -> None:
    """A task whose data changes before it runs is refused and not counted."""
    path = bars_file(tmp_path / "bars.csv", 500)
    task = next(tasks.plan(own_sweep(str(path))))
    bars_file(path, 500, seed=1)
    with pytest.raises(ValueError, match="is not the data that the sweep began with"):
        execute(task)


def test_policies_are_not_kept_where_they_are_not_wanted(tmp_path: Path) -> None:
    """Without policies, batches store none, and the table has no such column."""
    sweep = own_sweep(str(bars_file(tmp_path / "bars.csv", 500)), policies=False)
    batch = execute(next(tasks.plan(sweep))).batch
    assert batch.policies.shape[1] == 0
    with executor(1) as (pool, width):
        run_sweep(sweep, tmp_path / "out", pool, width)
    assert "policy" not in sj.load_results(tmp_path / "out").columns


@given(
    moves=st.lists(st.floats(-100, 100), min_size=2, max_size=30),
    share=st.floats(-3, 3),
)
def test_no_rate_below_the_bound_changes_the_better_action(moves: list[float], share: float) -> None:
    """In any mix of bars, for rates up to the bound, buying beats selling at r - rho tau exactly if the mean move is positive."""
    largest = max(map(abs, moves))
    mean = math.fsum(moves) / len(moves)
    if largest < 1e-3 or abs(mean) < 1e-6 * largest or abs(share - 1.0) < 1e-3:
        return
    world = Market([0.0] * len(moves), moves, duration="scaled")
    rate = share * deciding_rate(world)
    advantage, rng = 0.0, sj.stream(0)
    for move in moves:
        bar = Market([0.0], [move], duration="scaled", lowest=-largest, highest=largest)
        for action, sign in ((0, 1.0), (1, -1.0)):
            _, _, reward, duration = sj.step(bar, 0, action, rng)
            advantage += sign * (reward - rate * duration)
    assert (advantage > 0) == (mean > 0 if share < 1.0 else mean < 0)


def test_scaled_durations_are_the_worlds() -> None:
    """The scaled durations are those of a run that always buys."""
    world = market_segment(segment_length=2000, duration="scaled")
    buyer = sj.agents.policy_agent([0] * 8, num_actions=2)
    durations = scaled_durations(world)
    assert sj.run(world, buyer, steps=2000).duration == pytest.approx(durations.sum())
    assert durations.min() >= 5.0
    assert durations.max() <= 45.0
