from __future__ import annotations

import dataclasses
import html
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import sparse

import sojourn as sj
from sojourn.agents.catalogue import AGENTS, add_agent
from sojourn.answers.comparison import judge, plan
from sojourn.answers.comparison import judge as estimators
from sojourn.answers.comparison.compare import _with_lengths, compare
from sojourn.answers.comparison.judge import (
    AgentResult,
    Comparison,
    Earning,
    EstimatorError,
    Problem,
    RunSettings,
)
from sojourn.answers.comparison.section import lines, verdict
from sojourn.answers.comparison.tuning import TunedOptions, tuned
from sojourn.answers.page import write_report
from sojourn.data.hints import read_record
from sojourn.models import save_model
from sojourn.models.chain import Chain
from sojourn.models.problems import PROBLEMS
from sojourn.runs.spec import Sweep

SMALL = plan.Settings(steps=2000, seeds=3, tuning_seeds=2, agents=("smart", "harmonic_r", "planner"), widen=1)
COUNTED: list[float] = []


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Comparison]:
    """A quick comparison on a counterexample and on a model in a file."""
    folder = tmp_path_factory.mktemp("compare")
    save_model(PROBLEMS["gosavi"](), folder / "mine.toml")

    def advance(steps: float, failures: int = 0, *, earlier: bool = False, note: str = "") -> None:
        COUNTED.append(steps)

    names = ["long-shot", str(folder / "mine.toml")]
    return folder / "out", compare(names, folder / "out", SMALL, progress=advance)


def test_the_report_reads_what_compare_writes(small: tuple[Path, Comparison], tmp_path: Path) -> None:
    """The page of a comparison has both problems, every agent's relative gain, and the text."""
    folder, summary = small
    page = html.unescape(write_report([folder], tmp_path / "report.html").read_text(encoding="utf-8"))
    for problem in summary.problems:
        assert f"The agents on {problem.name}" in page
        assert all(finding in page for finding in problem.findings)
        assert all(f'data-value="{one.relative_gain!r}"' in page for one in problem.agents)


def rows(**columns: Any) -> pl.DataFrame:
    """A table of runs as from a sweep, with constant defaults for the other columns."""
    count = len(next(iter(columns.values())))
    common = {"agent": "smart", "diverged": False, "duration": 1.0, "reward": 0.0, "state": 0}
    return pl.DataFrame({**{k: [v] * count for k, v in common.items() if k not in columns}, **columns})


def test_tuning_and_comparing_share_no_seed() -> None:
    """Step sizes are chosen on seeds disjoint from those of the comparison."""
    settings = plan.Settings(seeds=1000, tuning_seeds=500)
    chosen = {"smart": {"step_size": 0.1, "exploration": 0.2}}
    tuning, more = (
        plan.tuning("gosavi", settings),
        plan.more_tuning("gosavi", settings, {"smart": [chosen["smart"]]}),
    )
    runs, earning = plan.runs("gosavi", settings, chosen), plan.earning("gosavi", settings, chosen)
    assert tuning.seeds == more.seeds
    assert runs.seeds == earning.seeds
    assert not set(tuning.seeds) & set(runs.seeds)
    assert (len(tuning.seeds), len(runs.seeds)) == (500, 1000)


def test_every_agent_that_learns_is_compared() -> None:
    """All take part, and so do the bandits; those that learn nothing, need vectors, or aim at something else, do not.

    Nor do the baselines of regret, which are slow on many states, unless they are named.
    """
    labels = {entry.label for entry in plan.tuning("gosavi", plan.Settings()).agents}
    baselines = {"tsde", "ucrl_smdp", "ct_ucrl"}
    unlisted = {"random_agent", "oracle", "red_cvar", "renewal", "tile_q", "tile_renewal", "tile_sarsa"}
    assert labels == set(AGENTS) - unlisted - baselines
    named = plan.tuning("gosavi", plan.Settings(agents=("tsde", "ucrl-smdp", "ct-ucrl"))).agents
    assert {entry.label for entry in named} == baselines
    grids = plan.grids("gosavi", plan.Settings(agents=("tsde", "ucrl-smdp", "ct-ucrl")))
    assert [list(grid) for grid in grids.values()] == [["strength"], ["radius"], ["radius"]]


def test_chosen_agents_have_the_grids_that_are_asked_for() -> None:
    """Agents are given by name or kind, grids for all agents with the option or for one; anything unsuitable is refused."""
    settings = plan.Settings(
        agents=("smart", "relaxed-smart-gosavi", "planner"),
        exploration=(0.5,),
        grids={"step_size": (0.2, 0.1), "smart.step_size": (0.7,)},
    )
    assert plan.grids("jobs", plan.checked_settings(settings)) == {
        "smart": {"step_size": [0.7], "exploration": [0.5]},
        "relaxed_smart_gosavi": {
            "step_size": [0.1, 0.2],
            "rate_step_size": [0.001, 0.01, 0.1],
            "exploration": [0.5],
        },
        "planner": {},
    }
    for wrong, words in (
        ({"agents": ("smrt",)}, "did you mean 'smart'"),
        ({"agents": ("smart", "smart")}, "named twice"),
        ({"grids": {"stepsize": (0.1,)}}, "no agent that is compared has the option 'stepsize'"),
        ({"exploration": (0.1, 0.1)}, "the same choice twice"),
        ({"exploration": (2.0,)}, "exploration is 2.0"),
        ({"time": -1.0}, "time is -1.0"),
    ):
        with pytest.raises(ValueError, match=words):
            plan.checked_settings(settings._replace(**wrong))


def test_an_agent_of_a_user_is_compared_too() -> None:
    """A catalogue entry is all that a comparison needs: its grid is tuned, and its title is shown."""
    own = AGENTS["smart"]._replace(name="lazy", title="Lazy SMART", grid={"step_size": (0.001, 0.002)})
    add_agent(own)
    try:
        (entry,) = (entry for entry in plan.tuning("gosavi", plan.Settings()).agents if entry.label == "lazy")
        assert (entry.kind, entry.options["step_size"]) == ("smart", [0.001, 0.002])
    finally:
        AGENTS.pop("lazy")


def test_the_steps_are_counted_before_they_are_taken(small: tuple[Path, Comparison]) -> None:
    """The progress bar reaches exactly its total, whatever runs are reused."""
    folder, _ = small
    assert sum(COUNTED) == sum(plan.num_steps(name, SMALL) for name in ("long-shot", "gosavi"))
    taken = sum(
        int(pl.read_parquet(folder / "long-shot" / part / "results.parquet")["steps"].sum())
        for part in ("tuning", "runs")
    )
    assert 0 <= plan.num_steps("long-shot", SMALL) - taken <= len(SMALL.agents) * SMALL.seeds * SMALL.steps


@pytest.mark.parametrize("name", ["gosavi", "tijms-maintenance", "admission-control"])
def test_policies_are_judged_by_their_exact_gain(name: str) -> None:
    """Relative gains follow from the policies' exact gains, and relative earnings likewise, for rewards and for costs."""
    model = PROBLEMS[name]()
    best = sj.solve(model)
    worst = np.array([model.action[first] for first in model.pair_offsets[:-1]])
    table = judge.Judge(model).judged(
        rows(
            policy=[best.policy.tolist(), worst.tolist(), best.policy.tolist()],
            diverged=[False, False, True],
            reward=[3.0 * best.gain, 0.0, best.gain - 3.0 * abs(best.gain)],
            duration=[3.0, 1.0, 1.0],
        )
    )
    gain = sj.evaluate(model, worst).gains[0]
    expected = [1.0, 1.0 - (best.gain - gain) / abs(best.gain)]
    assert table["relative_gain"][:2].to_list() == pytest.approx(expected)
    assert table["optimal"].to_list() == [True, expected[1] > 1 - 1e-9, False]
    # A run that diverged counts as the worst possible policy.
    assert table["policy_gain"][2] <= gain + 1e-12
    assert table["earned"].to_list() == pytest.approx([1.0, 1.0 - best.gain / abs(best.gain), -2.0])


def test_a_policy_is_followed_from_where_learning_left_it() -> None:
    """A wrong action at the start, which is never revisited, does not count; with two possible ends, both do."""
    model = sj.models.from_transitions(
        [
            (0, 0, 0, 1.0, 0.0, 1.0),  # staying at the start earns nothing
            (0, 1, 1, 0.25, 0.0, 1.0),
            (0, 1, 2, 0.75, 0.0, 1.0),
            (1, 0, 1, 1.0, 2.0, 1.0),  # the best place
            (1, 1, 0, 1.0, 0.0, 1.0),
            (2, 0, 2, 1.0, 1.0, 1.0),  # half as good
            (2, 1, 0, 1.0, 0.0, 1.0),
        ]
    )
    policies = [[0, 0, 0], [0, 0, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0]]
    known = judge.Judge(model)
    table = known.with_followed(
        known.judged(rows(policy=policies, state=[0, 1, 2, 0, 1], steps=[5] * 5, length=[5, 5, 5, 5, 4]))
    )
    assert table["relative_gain"].to_list() == pytest.approx([0.0, 0.0, 0.0, 0.0, 0.625])
    # The shorter run comes first and is not followed; of five steps from the start, the first earns nothing.
    assert table["followed"].to_list()[0] is None
    assert table["followed"].to_list()[1:] == pytest.approx([0.0, 1.0, 0.5, 0.8 * 0.625])


@pytest.mark.parametrize("dense", [0, 200])
def test_expected_visits_are_sums_of_powers(dense: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Doubling and single steps both equal the sum of the laws after 0, 1, ..., n - 1 steps."""
    monkeypatch.setattr(judge, "_DENSE", dense)
    rng = np.random.default_rng(4)
    matrix = rng.dirichlet(np.ones(6), 6)
    chain = Chain(sparse.csr_array(matrix), np.zeros(6), np.ones(6))
    for steps in (1, 2, 7, 64):
        laws = [np.linalg.matrix_power(matrix, count)[2] for count in range(steps)]
        np.testing.assert_allclose(judge._visits(chain, 2, steps), np.sum(laws, axis=0), rtol=1e-12)


def test_a_rarely_reached_trap_hardly_counts() -> None:
    """A policy that gets stuck once in a billion steps has a gain of 0, but is still worth following."""
    model = sj.models.from_transitions(
        [
            (0, 0, 0, 1.0 - 1e-9, 1.0, 1.0),
            (0, 0, 1, 1e-9, 1.0, 1.0),
            (1, 0, 1, 1.0, 0.0, 1.0),  # the wrong action, in an unvisited state
            (1, 1, 0, 1.0, 0.0, 1.0),
        ]
    )
    known = judge.Judge(model)
    table = known.with_followed(known.judged(rows(policy=[[0, 0]], steps=[30_000], length=[30_000])))
    assert table["relative_gain"].to_list() == pytest.approx([0.0], abs=1e-6)
    assert table["followed"].to_list() == pytest.approx([1.0], abs=1e-4)


def test_the_worst_policy_is_the_worst() -> None:
    """A diverged run counts as the smallest gain of all policies."""
    model = PROBLEMS["gosavi"]()
    gains = [sj.evaluate(model, policy).gain for policy in ([0, 0], [0, 1], [1, 0], [1, 1])]
    table = judge.Judge(model).judged(rows(policy=[[0, 0]], diverged=[True]))
    assert table["policy_gain"][0] == pytest.approx(min(gains))


def test_a_gain_of_zero_is_not_a_unit() -> None:
    """If the optimal gain is 0, even up to rounding, relative gains are in units of the largest rate."""
    model = sj.models.from_transitions(
        [
            (0, 0, 1, 1.0, 0.1, 1.0),
            (0, 1, 1, 1.0, -1.1, 1.0),
            (1, 0, 2, 1.0, 0.2, 1.0),
            (2, 0, 0, 1.0, -0.3, 1.0),
        ]
    )
    assert 0.0 < abs(sj.solve(model).gain) < 1e-15
    table = judge.Judge(model).judged(rows(policy=[[0, 0, 0], [1, 0, 0]]))
    assert table["relative_gain"].to_list() == pytest.approx([1.0, 1.0 - 0.4 / 1.1])
    assert table["optimal"].to_list() == [True, False]


def judged_by(worth: Callable[[dict[str, float]], tuple[float, float]], asked: list[int]) -> Any:
    """A stand-in for running and judging sweeps, from functions for a setting's policy and earnings."""

    def judged(sweep: Sweep, part: str) -> pl.DataFrame:
        found = []
        for entry in sweep.agents:
            asked.append(len(entry))
            for options in entry.grid():
                policy, earned = worth({name: float(choice) for name, choice in options.items()})  # type: ignore[arg-type]
                found.append({"agent": entry.label, **options, "relative_gain": policy, "earned": earned})
        return pl.DataFrame(found)

    return judged


def off(number: float, best: float) -> float:
    return abs(math.log10(number / best))


TO_TUNE = plan.Settings(agents=("relaxed_smart",), exploration=(0.03, 0.1), widen=3)


def test_a_grid_is_widened_until_the_best_lies_within_it() -> None:
    """Optima far outside the grid in two options at once, and different for policies and for earnings, are both found."""
    asked: list[int] = []

    def worth(options: dict[str, float]) -> tuple[float, float]:
        rate = off(options["rate_step_size"], 1e-5)
        return (
            -off(options["step_size"], 0.001) - rate - off(options["exploration"], 0.09),
            -off(options["step_size"], 0.1) - rate - off(options["exploration"], 0.01),
        )

    found = tuned("jobs", TO_TUNE, judged_by(worth, asked))["relaxed_smart"]
    assert found["policy"] == TunedOptions(
        {"step_size": 0.00111, "rate_step_size": 1e-05, "exploration": 0.1}, ()
    )
    assert found["earned"] == TunedOptions(
        {"step_size": 0.1, "rate_step_size": 1e-05, "exploration": 0.009}, ()
    )
    assert sum(asked) < 24 + 40  # the grid and the paths to both optima, not the product of wider grids


def test_a_best_setting_on_the_edge_is_told() -> None:
    """If larger is always better, widening stops at its limit and the edge is reported; a fixed grid is on its edge at once."""

    def worth(options: dict[str, float]) -> tuple[float, float]:
        return options["step_size"] - options["rate_step_size"], 0.0

    found = tuned("jobs", TO_TUNE, judged_by(worth, []))["relaxed_smart"]["policy"]
    assert found.options["step_size"] == 0.9  # step sizes end at 1, so this is not an edge
    assert found.options["rate_step_size"] == 1e-6
    assert found.edges == ("rate_step_size",)
    asked: list[int] = []
    found = tuned("jobs", TO_TUNE._replace(widen=0), judged_by(worth, asked))["relaxed_smart"]["policy"]
    assert found.options == {"step_size": 0.3, "rate_step_size": 0.001, "exploration": 0.03}
    assert found.edges == ("step_size", "rate_step_size", "exploration")
    assert asked == [24]


def test_of_equal_policies_those_that_earn_more_are_chosen() -> None:
    """The largest mean relative gain wins, ties are broken by earnings; an agent without options needs no search."""

    def worth(options: dict[str, float]) -> tuple[float, float]:
        return min(1.0, 2.0 - off(options["step_size"], 0.1)), -off(options.get("exploration", 0.1), 0.1)

    settings = TO_TUNE._replace(agents=("smart",))
    best = tuned("jobs", settings, judged_by(worth, []))["smart"]
    assert best["policy"] == TunedOptions({"step_size": 0.01, "exploration": 0.1}, ())
    assert tuned("jobs", settings._replace(agents=("planner",)), judged_by(lambda _: (1.0, 1.0), [])) == {
        "planner": {"policy": TunedOptions({}, ()), "earned": TunedOptions({}, ())}
    }


def test_steps_to_99_percent_are_those_after_which_it_stays() -> None:
    """Steps to 99 % count only from where the policy stays good; a run that never gets there takes infinitely many."""
    table = rows(
        seed=[0] * 4 + [1] * 4 + [2] * 4,
        steps=[10, 100, 1000, 10_000] * 3,
        length=[10, 100, 1000, 10_000] * 3,
        duration=[1.0, 2.0, 3.0, 4.0] * 3,
        relative_gain=[0.99, 1.0, 1.0, 0.995, 1.0, 0.98, 1.0, 1.0, 1.0, 1.0, 1.0, 0.9],
    )
    steps, times = judge._reaching(table)
    assert steps.tolist() == [10.0, 1000.0, math.inf]
    assert times.tolist() == [1.0, 3.0, math.inf]


def test_the_trap_is_the_most_frequent_wrong_policy() -> None:
    """The trap is the most frequent policy that is not optimal among the later checks."""
    table = rows(
        length=[9, 1000, 1000, 1000, 1000],
        optimal=[False, True, False, False, False],
        policy=[[9], [0], [1], [2], [2]],
    )
    assert judge.trap(table, "smart") == ([2], 0.5)
    assert judge.trap(table.with_columns(optimal=True), "smart") is None


def test_a_comparison_writes_what_it_found(small: tuple[Path, Comparison]) -> None:
    """JSON, table, figures and README exist, and agree with each other and with exact gains."""
    folder, summary = small
    written = json.loads((folder / "comparison.json").read_text())
    assert read_record(Comparison, written) == summary
    assert list(written) == ["version", "settings", "problems", "changing"]
    names = [found.name for found in summary.problems]
    assert names == ["long-shot", "mine"]
    for figure in (*names, "outcomes", "earned"):
        assert {path.suffix for path in (folder / "figures").glob(f"{figure}.*")} == {".png", ".svg"}
    page = (folder / "README.md").read_text()
    assert all(f"## {name}" in page and f"The agents on {name}" in page for name in names)
    table = pl.read_parquet(folder / "results.parquet")
    model = PROBLEMS["gosavi"]()
    for policy, gain in table.filter(problem="mine").select("policy", "policy_gain").iter_rows():
        assert gain == pytest.approx(sj.evaluate(model, np.array(policy)).gain)
    for found in summary.problems:
        ended = table.filter(problem=found.name, steps=SMALL.steps)
        for row in found.agents:
            mine = ended.filter(agent=row.agent)
            assert mine.height == SMALL.seeds
            assert row.optimal_share == pytest.approx(mine["optimal"].to_numpy().mean())
            assert row.relative_gain == pytest.approx(mine["relative_gain"].to_numpy().mean())
            assert row.relative_low <= row.relative_gain <= row.relative_high
            earned = mine["reward"] / mine["duration"] / found.gain
            assert row.earned == pytest.approx(earned.to_numpy().mean())
            earning = folder / found.name / "earning" / "results.parquet"
            if row.earning.options != row.options:
                own = pl.read_parquet(earning).filter(agent=row.agent, steps=SMALL.steps)
                earned = own["reward"] / own["duration"] / found.gain
            assert row.earning.earned == pytest.approx(earned.to_numpy().mean())
        told = [line for line in lines(summary) if line]
        head = told.index(f"The agents on {found.name}") + 2
        assert [line.split("  ")[0] for line in told[head:][: len(found.agents)]] == [
            row.name for row in found.agents
        ]
        assert list(found.findings) == verdict(found)
        assert len(found.findings) >= 3


def test_a_comparison_that_is_finished_stays_as_it_is(small: tuple[Path, Comparison]) -> None:
    """Repeating the command reuses everything and gives the same output; a folder of other files is refused."""
    folder, summary = small
    mine = str(folder.parent / "mine.toml")
    assert compare(["long-shot", mine], folder, SMALL) == summary
    other = folder.parent / "other"
    other.mkdir()
    (other / "letter.txt").write_text("dear")
    with pytest.raises(ValueError, match="choose another folder"):
        compare(["long-shot"], other, SMALL)


def test_another_comparison_does_not_overwrite_the_first(small: tuple[Path, Comparison]) -> None:
    """Other settings, or a list without the earlier problems, are refused, and every file stays unchanged."""
    folder, _ = small
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    mine = str(folder.parent / "mine.toml")
    for names, settings in (
        (["long-shot", mine], SMALL._replace(steps=3000)),
        (["long-shot"], SMALL),
        (["jobs"], SMALL),
        (["long-shot", mine], SMALL._replace(exploration=(0.2,))),
        (["long-shot", mine], SMALL._replace(agents=("smart",))),
    ):
        with pytest.raises(
            ValueError, match=r"holds a comparison on long-shot, .*mine.toml \(steps 2,000, seeds 3"
        ):
            compare(names, folder, settings)
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_wrong_names_are_refused_before_anything_is_run(tmp_path: Path) -> None:
    """An unknown or repeated problem gets one sentence, and no folder is created."""
    with pytest.raises(ValueError, match="did you mean 'gosavi'"):
        compare(["long-shot", "gossavi"], tmp_path / "out", SMALL)
    with pytest.raises(ValueError, match="name each once"):
        compare(["jobs", "jobs"], tmp_path / "out", SMALL)
    with pytest.raises(ValueError, match="steps is 50"):
        compare(["jobs"], tmp_path / "out", SMALL._replace(steps=50))
    assert not (tmp_path / "out").exists()


def test_files_that_would_share_a_place_are_refused(tmp_path: Path) -> None:
    """Files with equal or reserved names would overwrite each other, so they are refused."""
    for place in ("one/mine.toml", "other/mine.toml", "outcomes.toml"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        save_model(PROBLEMS["gosavi"](), tmp_path / place)
    with pytest.raises(ValueError, match="two of the problems are called 'mine'"):
        plan.titles([str(tmp_path / "one/mine.toml"), str(tmp_path / "other/mine.toml")])
    with pytest.raises(ValueError, match="cannot be called 'outcomes'"):
        plan.titles([str(tmp_path / "outcomes.toml")])


def test_a_model_of_several_gains_is_refused_before_anything_is_run(tmp_path: Path) -> None:
    """A model with two absorbing states has two gains: it is refused at once, and no folder is created."""
    parts = sj.models.from_transitions([(0, 0, 0, 1.0, 1.0, 1.0), (1, 0, 1, 1.0, 2.0, 1.0)])
    save_model(parts, tmp_path / "parts.toml")
    with pytest.raises(
        ValueError, match=r"agents cannot be compared on .*parts.toml: the gain depends on the first state"
    ):
        compare(["long-shot", str(tmp_path / "parts.toml")], tmp_path / "out", SMALL)
    assert not (tmp_path / "out").exists()


def test_the_harmonic_mean_is_the_better_estimate_of_jobs() -> None:
    """Its variance is smaller by E[r^2] / E[r]^2 = 2.06 where jobs of random size have a random pace."""
    model = PROBLEMS["jobs"]()
    found = {row.estimator: row for row in estimators.errors(model, [1], 1 / 0.9)}
    sizes = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    expected = (sizes**2).mean() / sizes.mean() ** 2
    # A variance from 400 seeds has a relative standard error of about 7 %, and a ratio of two 10 %.
    for harmonic, ratio in (("Harmonic", "Exponential"), ("CumulativeHarmonic", "Cumulative")):
        measured = (found[ratio].error / found[harmonic].error) ** 2
        assert measured == pytest.approx(expected, rel=0.3)
        assert found[harmonic].error_high < found[ratio].error_low
    said = verdict(_found("jobs", *found.values()))
    assert "The harmonic mean is the better estimate here" in said[-1]


def _found(name: str, *errors: EstimatorError) -> Problem:
    """A comparison's result, with made-up measurements."""
    from sojourn.answers.audit import audited
    from sojourn.exact.audit.audit import audit

    found = audit(PROBLEMS[name]())
    record = audited(name, found)
    agents = tuple(made_up(agent) for agent in ("harmonic_r", "smart"))
    return Problem(name, found.gain, record.states, record, agents, curves=(), estimators=errors)


def made_up(agent: str) -> AgentResult:
    numbers: dict[str, Any] = {field.name: 1.0 for field in dataclasses.fields(AgentResult)}
    return AgentResult(
        **numbers
        | {
            "agent": agent,
            "name": agent,
            "optimal_share": 0.5,
            "steps_99": None,
            "diverged": 0,
            "options": {"step_size": 0.1},
            "edges": ("step_size",),
            "earning": Earning({"step_size": 0.2}, (), 0.5, 0.4, 0.6),
        }
    )


def test_the_words_say_why() -> None:
    """On the counterexample the text names the limit, the rates that would do, and where it settles."""
    exact = [EstimatorError(name, 1.0, 1.0, 1.0, 1.0) for name in ("Harmonic", "Exponential")]
    said = " ".join(verdict(_found("long-shot", *exact)))
    for part in (
        "converges to 1.8 instead of 5",
        "rates from 2.33333 on",
        "settles at a gain of 3",
        "Neither",
    ):
        assert part in said
    said = " ".join(verdict(_found("gosavi", *exact)))
    assert "converges to 4.473 instead of 2.104" in said
    assert "and so for this rate too" in said


def test_an_edge_is_told_in_the_table() -> None:
    """The table names options whose best choice is the last one tried, and what they were best for."""
    settings = RunSettings(1, 1, 1, None, {}, 0, 0.1, 1, 1)
    shown = lines(Comparison(settings, (_found("jobs"),), "0"))
    smart, earning = (line.split("  ") for line in shown if line.startswith("smart "))
    assert "step size 0.1" in [word.strip() for word in smart]
    assert not any("step size" in word for word in earning)
    assert "the best choice is the last that was tried, so widen further, or give another grid." in " ".join(
        shown
    )


def test_agents_are_compared_within_a_budget_of_time(tmp_path: Path) -> None:
    """Every run ends with the step at which the clock reaches the time, and curves are over time."""
    settings = plan.Settings(
        seeds=3,
        tuning_seeds=1,
        time=300.0,
        agents=("smart",),
        exploration=(0.1,),
        grids={"step_size": (0.1,)},
    )
    (found,) = compare(["long-shot"], tmp_path / "out", settings, formats=()).problems
    table = pl.read_parquet(tmp_path / "out" / "results.parquet")
    assert sorted(set(table["time"])) == sorted(found.curves[0].step)
    assert found.curves[0].step[-1] == 300.0
    longest = float(PROBLEMS["long-shot"]().duration.max())
    assert ((table["duration"] >= table["time"]) & (table["duration"] < table["time"] + longest)).all()
    assert "until the clock reaches 300" in (tmp_path / "out" / "README.md").read_text()


def test_runs_that_cannot_reach_their_time_are_refused() -> None:
    """Runs whose steps are too short to reach their time are refused with an explanation."""
    short = rows(time=[5.0, 5.0], steps=[9, 9], error=[None, None], duration=[5.0, 4.9])
    with pytest.raises(ValueError, match="on mine, 1 runs took 9 steps and did not reach their time"):
        _with_lengths(short, plan.Settings(time=5.0), "mine")


def test_agents_are_compared_in_a_world_that_changes(tmp_path: Path) -> None:
    """In a world that changes, agents are tuned and judged by earnings relative to the best policy at each time, on the page and in tables."""
    settings = plan.Settings(
        steps=600, seeds=2, tuning_seeds=1, agents=("smart",), exploration=(0.1,), grids={"step_size": (0.01, 0.3)}, widen=0
    )  # fmt: skip
    found = compare(["pay-rise"], tmp_path / "out", settings, formats=())
    (world,) = found.changing
    (row,) = world.agents
    agent = sj.smart(1, 2, exploration=0.1, step_size=row.options["step_size"])
    runs = [sj.run(sj.worlds.changes.pay_rise(), agent, 600, seed=seed, compiled=False) for seed in range(2)]
    shares = [run.reward / (run.reward + run.dynamic_regret) for run in runs]
    assert row.share == pytest.approx(np.mean(shares), rel=1e-12)
    assert row.dynamic_regret == pytest.approx(np.mean([run.dynamic_regret for run in runs]), rel=1e-12)
    other = sj.smart(1, 2, exploration=0.1, step_size=0.31 - row.options["step_size"])
    seed = 1_000_000
    chosen, refused = (
        sj.run(sj.worlds.changes.pay_rise(), one, 600, seed=seed, compiled=False).dynamic_regret
        for one in (agent, other)
    )
    assert chosen < refused
    table = pl.read_parquet(tmp_path / "out" / "results.parquet")
    assert table["dynamic_regret"].null_count() == 0
    page = html.unescape(
        write_report([tmp_path / "out"], tmp_path / "report.html").read_text(encoding="utf-8")
    )
    assert "The agents in pay-rise" in page
    assert "## pay-rise" in (tmp_path / "out" / "README.md").read_text()
    with pytest.raises(
        ValueError, match="pay-rise changes, so it is not known how many steps fit into a time"
    ):
        compare(["pay-rise"], tmp_path / "timed", settings._replace(time=100.0))
