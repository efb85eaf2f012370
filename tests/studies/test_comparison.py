from __future__ import annotations

import dataclasses
import html
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sojourn as sj
from sojourn.agents.named import AGENTS, add_agent
from sojourn.models import save_model
from sojourn.models.problems import PROBLEMS
from sojourn.rules.records import read_record
from sojourn.studies.comparison import estimators, judge, plan
from sojourn.studies.comparison.folder import compare
from sojourn.studies.comparison.record import AgentResult, Comparison, EstimatorError, Problem
from sojourn.studies.comparison.words import readme, table_lines, verdict
from sojourn.studies.page import write_report

SMALL = plan.Settings(steps=2000, seeds=3, tuning_seeds=2)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Comparison]:
    """A comparison of seconds, on a counterexample and on a model in a file."""
    folder = tmp_path_factory.mktemp("compare")
    save_model(PROBLEMS["gosavi"](), folder / "mine.toml")
    return folder / "out", compare(["long-shot", str(folder / "mine.toml")], folder / "out", SMALL)


def test_the_report_reads_what_compare_writes(small: tuple[Path, Comparison], tmp_path: Path) -> None:
    """The page of a comparison has both problems, every agent's relative gain, and the words."""
    folder, summary = small
    page = html.unescape(write_report([folder], tmp_path / "report.html").read_text(encoding="utf-8"))
    for problem in summary.problems:
        assert f"The agents on {problem.name}" in page
        assert all(finding in page for finding in problem.findings)
        assert all(f'data-value="{one.relative_gain!r}"' in page for one in problem.agents)


def rows(**columns: Any) -> pl.DataFrame:
    """A table of runs as a sweep makes it, all columns that are not given the same in all rows."""
    count = len(next(iter(columns.values())))
    common = {"agent": "smart", "actions": "given", "diverged": False, "duration": 1.0, "regret": 0.0}
    return pl.DataFrame({**{k: [v] * count for k, v in common.items() if k not in columns}, **columns})


def test_tuning_and_comparing_share_no_seed() -> None:
    """Step sizes are chosen on other seeds than those that agents are compared by."""
    settings = plan.Settings(seeds=1000, tuning_seeds=500)
    chosen = {label: dict.fromkeys(plan.tuned_options(label), 0.1) for label in plan.compared()}
    tuning, runs = plan.tuning("gosavi", settings), plan.runs("gosavi", settings, chosen)
    assert not set(tuning.seeds) & set(runs.seeds)
    assert (len(tuning.seeds), len(runs.seeds)) == (500, 1000)


def test_every_agent_that_learns_is_compared() -> None:
    """All agents of the page Choosing an agent take part; the newer ones say that they do not."""
    from sojourn.runs.named import agent_kinds

    kinds = {entry.kind for entry in plan.tuning("gosavi", SMALL).agents}
    assert kinds == {kind for kind in agent_kinds() if AGENTS[kind].compared}
    assert {"smart", "harmonic_r", "differential_q"} <= kinds
    assert not kinds & {"random_agent", "planner", "greedy_bandit", "ucb_bandit", "oracle"}


def test_an_agent_of_a_user_is_compared_too() -> None:
    """An entry in the registry is all that a comparison needs: its grid is tuned, and its title is shown."""
    own = AGENTS["smart"]._replace(name="lazy", title="Lazy SMART", grid={"step_size": (0.001, 0.002)})
    add_agent(own)
    try:
        (entry,) = (entry for entry in plan.tuning("gosavi", SMALL).agents if entry.label == "lazy")
        assert (entry.kind, entry.options["step_size"]) == ("smart", [0.001, 0.002])
        assert plan.tuned_options("lazy") == ["step_size"]
        assert 0.002 in plan.choices("step_size")
    finally:
        AGENTS.pop("lazy")


def test_the_steps_are_counted_before_they_are_taken(small: tuple[Path, Comparison]) -> None:
    """The number of steps that the progress bar counts to is the number that are taken."""
    folder, _ = small
    taken = sum(
        int(pl.read_parquet(folder / "long-shot" / part / "results.parquet")["steps"].sum())
        for part in ("tuning", "runs")
    )
    assert plan.num_steps("long-shot", SMALL) == taken


@pytest.mark.parametrize("name", ["gosavi", "tijms-maintenance", "admission-control"])
def test_policies_are_judged_by_their_exact_gain(name: str) -> None:
    """Relative gains follow from the gains of policies, for rewards and for costs, in both numberings."""
    model = PROBLEMS[name]()
    best = sj.solve(model)
    worst = np.array([model.action[first] for first in model.pair_offsets[:-1]])
    last = model.num_actions - 1
    table = judge.Judge(model).judged(
        rows(
            policy=[
                best.policy.tolist(),
                worst.tolist(),
                (last - best.policy).tolist(),
                best.policy.tolist(),
            ],
            actions=["given", "given", "reversed", "given"],
            diverged=[False, False, False, True],
        )
    )
    gain = sj.evaluate(model, worst).gains[0]
    expected = [1.0, 1.0 - (best.gain - gain) / abs(best.gain), 1.0]
    assert table["relative_gain"][:3].to_list() == pytest.approx(expected)
    assert table["optimal"].to_list() == [True, expected[1] > 1 - 1e-9, True, False]
    # A run that diverged counts as the worst policy; none that we can think of is worse.
    assert table["policy_gain"][3] <= gain + 1e-12
    assert table["policy"][2].to_list() == best.policy.tolist()


def test_the_worst_policy_is_the_worst() -> None:
    """What a run that diverged counts as is the smallest gain of all policies."""
    model = PROBLEMS["gosavi"]()
    gains = [sj.evaluate(model, policy).gain for policy in ([0, 0], [0, 1], [1, 0], [1, 1])]
    table = judge.Judge(model).judged(rows(policy=[[0, 0]], diverged=[True]))
    assert table["policy_gain"][0] == pytest.approx(min(gains))


def test_a_gain_of_zero_is_no_measure() -> None:
    """Where the optimal gain is 0, be it by rounding only, relative gains are in units of the largest rate."""
    model = sj.model.from_transitions(
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


def test_the_options_that_did_best_are_chosen() -> None:
    """The largest mean relative gain wins, then the least regret; a null regret comes last."""
    tables = []
    for label in plan.compared():
        names = plan.tuned_options(label)
        table = rows(
            relative_gain=[1.0, 0.5, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9],
            regret=[0.0, 0.0, 9.0, 9.0, 5.0, 3.0, None, None],
            agent=[label] * 8,
        )
        tables.append(table.with_columns(*(pl.Series(name, [1.0, 1, 2, 2, 3, 3, 4, 4]) for name in names)))
    chosen = judge.chosen(pl.concat(tables, how="diagonal"))
    assert all(set(options.values()) == {3.0} for options in chosen.values())
    assert list(chosen) == list(plan.compared())


def test_steps_to_99_percent_are_those_after_which_it_stays() -> None:
    """A policy that is good and then bad again has not arrived; one that never arrives takes for ever."""
    table = rows(
        seed=[0] * 4 + [1] * 4 + [2] * 4,
        steps=[10, 100, 1000, 10_000] * 3,
        duration=[1.0, 2.0, 3.0, 4.0] * 3,
        relative_gain=[0.99, 1.0, 1.0, 0.995, 1.0, 0.98, 1.0, 1.0, 1.0, 1.0, 1.0, 0.9],
    )
    steps, times = judge._reaching(table)
    assert steps.tolist() == [10.0, 1000.0, math.inf]
    assert times.tolist() == [1.0, 3.0, math.inf]


def test_where_an_agent_is_held_up() -> None:
    """The most frequent policy that is not optimal, among the later looks."""
    table = rows(
        steps=[9, 1000, 1000, 1000, 1000],
        optimal=[False, True, False, False, False],
        policy=[[9], [0], [1], [2], [2]],
    )
    assert judge.trap(table, "smart") == ([2], 0.5)
    assert judge.trap(table.with_columns(optimal=True), "smart") is None


def test_a_comparison_writes_what_it_found(small: tuple[Path, Comparison]) -> None:
    """JSON, table, figures and README are there, and agree with each other and with exact gains."""
    folder, summary = small
    written = json.loads((folder / "comparison.json").read_text())
    assert read_record(Comparison, written) == summary
    assert list(written) == ["version", "settings", "problems"]
    names = [found.name for found in summary.problems]
    assert names == ["long-shot", "mine"]
    for figure in (*names, "outcomes"):
        assert {path.suffix for path in (folder / "figures").glob(f"{figure}.*")} == {".png", ".svg"}
    assert (folder / "README.md").read_text() == readme(summary)
    table = pl.read_parquet(folder / "results.parquet")
    model = PROBLEMS["gosavi"]()
    for policy, gain in table.filter(problem="mine").select("policy", "policy_gain").iter_rows():
        assert gain == pytest.approx(sj.evaluate(model, np.array(policy)).gain)
    for found in summary.problems:
        ended = table.filter(problem=found.name, steps=SMALL.steps)
        for row in found.agents:
            mine = ended.filter(agent=row.agent)
            assert mine.height == 2 * SMALL.seeds
            assert row.optimal_share == pytest.approx(mine["optimal"].to_numpy().mean())
            assert row.relative_gain == pytest.approx(mine["relative_gain"].to_numpy().mean())
            assert row.relative_low <= row.relative_gain <= row.relative_high
        assert len(table_lines(found)) == 2 + len(plan.compared())
        assert list(found.findings) == verdict(found)
        assert len(found.findings) >= 3


def test_a_comparison_that_is_finished_stays_as_it_is(small: tuple[Path, Comparison]) -> None:
    """The same command finds everything done and says the same; a folder of other things is refused."""
    folder, summary = small
    mine = str(folder.parent / "mine.toml")
    assert compare(["long-shot", mine], folder, SMALL) == summary
    other = folder.parent / "other"
    other.mkdir()
    (other / "letter.txt").write_text("dear")
    with pytest.raises(ValueError, match="choose another folder"):
        compare(["long-shot"], other, SMALL)


def test_another_comparison_does_not_overwrite_the_first(small: tuple[Path, Comparison]) -> None:
    """Other settings, or problems without those of before, are refused, and every file stays as it was."""
    folder, _ = small
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    mine = str(folder.parent / "mine.toml")
    for names, settings in (
        (["long-shot", mine], SMALL._replace(steps=3000)),
        (["long-shot"], SMALL),
        (["jobs"], SMALL),
    ):
        with pytest.raises(
            ValueError, match=r"holds a comparison on long-shot, .*mine.toml \(steps 2,000, seeds 3"
        ):
            compare(names, folder, settings)
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_wrong_names_are_refused_before_anything_is_run(tmp_path: Path) -> None:
    """A problem that there is not, or one named twice: one sentence, and no folder."""
    with pytest.raises(ValueError, match="did you mean 'gosavi'"):
        compare(["long-shot", "gossavi"], tmp_path / "out", SMALL)
    with pytest.raises(ValueError, match="name each once"):
        compare(["jobs", "jobs"], tmp_path / "out", SMALL)
    with pytest.raises(ValueError, match="steps is 50"):
        compare(["jobs"], tmp_path / "out", SMALL._replace(steps=50))
    assert not (tmp_path / "out").exists()


def test_files_that_would_share_a_place_are_refused(tmp_path: Path) -> None:
    """Files of one name, or named as what the folder holds besides the problems, would overwrite each other."""
    for place in ("one/mine.toml", "other/mine.toml", "outcomes.toml"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        save_model(PROBLEMS["gosavi"](), tmp_path / place)
    with pytest.raises(ValueError, match="two of the problems are called 'mine'"):
        plan.titles([str(tmp_path / "one/mine.toml"), str(tmp_path / "other/mine.toml")])
    with pytest.raises(ValueError, match="cannot be called 'outcomes'"):
        plan.titles([str(tmp_path / "outcomes.toml")])


def test_a_model_of_several_gains_is_refused_before_anything_is_run(tmp_path: Path) -> None:
    """Two states that cannot be left have two gains: that is said at once, and no folder is made."""
    parts = sj.model.from_transitions([(0, 0, 0, 1.0, 1.0, 1.0), (1, 0, 1, 1.0, 2.0, 1.0)])
    save_model(parts, tmp_path / "parts.toml")
    with pytest.raises(
        ValueError, match=r"agents cannot be compared on .*parts.toml: the gain depends on the state"
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
    """What a comparison would have found, with made-up measurements."""
    from sojourn.exact.audit.audit import audit
    from sojourn.studies.audit.compute import audited

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
            "options": {},
        }
        | {"optimal_given": 0.8, "optimal_reversed": 0.2}
    )


def test_the_words_say_why() -> None:
    """On the counterexample the verdict names the limit, the rates that would do, and where it settles."""
    exact = [EstimatorError(name, 1.0, 1.0, 1.0, 1.0) for name in ("Harmonic", "Exponential")]
    said = " ".join(verdict(_found("long-shot", *exact)))
    for part in ("comes to 1.8 instead of 5", "rates from 2.33333 on", "settles at a gain of 3", "Neither"):
        assert part in said
    said = " ".join(verdict(_found("gosavi", *exact)))
    assert "comes to 4.473 instead of 2.104" in said
    assert "and so for this rate too" in said


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_numbering_actions_the_other_way_round_changes_nothing_else(name: str) -> None:
    """Gains, laws and rows belong to the same action, whatever its number; twice round is where we began."""
    model = PROBLEMS[name]()
    turned = model.with_actions_reversed()
    last = model.num_actions - 1
    for state in range(0, model.num_states, max(1, model.num_states // 7)):
        first, end = model.pair_offsets[state], model.pair_offsets[state + 1]
        for action in model.action[first:end].tolist():
            one, other = model.pair(state, action), turned.pair(state, last - action)
            assert model.reward[one] == turned.reward[other]
            assert model.duration[one] == turned.duration[other]
            mine = slice(model.row_offsets[one], model.row_offsets[one + 1])
            its = slice(turned.row_offsets[other], turned.row_offsets[other + 1])
            for part in ("successor", "probability"):
                assert getattr(model, part)[mine].tolist() == getattr(turned, part)[its].tolist()
            for laws, turned_laws in zip(model.flat_laws()[:2], turned.flat_laws()[:2], strict=True):
                by_rows = model.flat_laws()[2]
                assert laws.law(mine.start if by_rows else one) == turned_laws.law(
                    its.start if by_rows else other
                )
    assert sj.solve(turned).gain == pytest.approx(sj.solve(model).gain, abs=1e-9)
    again = turned.with_actions_reversed()
    assert again.action.tolist() == model.action.tolist()
    assert again.reward.tolist() == model.reward.tolist()
    assert again.action_names == (None if model.action_names is None else model.action_names[: last + 1])
