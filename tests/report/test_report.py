from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import report_samples as samples
import sojourn as sj
from asking import ask
from sojourn.answers import page as page_module
from sojourn.answers.page import write_report
from sojourn.answers.solution import solve_named
from sojourn.report.blocks import Column, DataTable
from sojourn.report.charts import Json
from sojourn.report.html import data, page_of, prose, table, text
from sojourn.runs.results import summarise
from sojourn_paper.claims import Claim, claims_section, load_claims


class Page(HTMLParser):
    """The elements of a page: attributes, tables as text, and the charts' data."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.values: dict[str, list[list[str | None]]] = {}
        self.charts: dict[str, Any] = {}
        self._inside = self._caption = ""
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append((tag, given))
        if tag == "table":
            self._caption = given["aria-label"] or ""
            self.tables[self._caption], self.values[self._caption] = [], []
        if tag == "tr":
            self.tables[self._caption].append([])
            self.values[self._caption].append([])
        if tag in ("td", "th"):
            self.tables[self._caption][-1].append("")
            self.values[self._caption][-1].append(given.get("data-value"))
        self._inside = "json" if given.get("type") == "application/json" else tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "json":
            chart = json.loads(data)
            self.charts[chart["title"]] = chart
        elif self._inside in ("td", "th"):
            self.tables[self._caption][-1][-1] += data
        elif self._inside not in ("script", "style"):
            self.words.append(data)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One output folder of each kind except the studies."""
    root = tmp_path_factory.mktemp("outputs")
    samples.solution(root / "solution")
    samples.audit(root / "audit")
    samples.sweep(root / "sweep")
    return root


def read(out: Path) -> Page:
    return Page(out.read_text(encoding="utf-8"))


def xs(chart: Any, series: Any) -> list[float]:
    """The x values of a series; lists that several series share are stored once in the chart."""
    given = series["x"]
    return given if isinstance(given, list) else chart["xs"][given]


def variant(chart: Any, chosen: str) -> list[Any]:
    """The series shown for a choice."""
    return [chart["pool"][place] for place in chart["variants"][chosen]["use"]]


# --- Escaping -----------------------------------------------------------------------


def test_text_cannot_become_markup() -> None:
    """Whatever the text, its HTML has no tag and no unclosed quote, and parses back to the text."""
    wild = "<b>\"'&amp;</script>\u2028"
    assert not set('<>"') & set(text(wild))
    assert html.unescape(text(wild)) == wild
    assert prose("<i> `a<b` **c** *d*") == "&lt;i&gt; <code>a&lt;b</code> <strong>c</strong> <em>d</em>"


def test_data_cannot_end_its_script() -> None:
    """JSON in a script element contains no character that could end the element, and parses back unchanged."""
    wild: Json = {"</script><!--": ["\u2028\u2029&", 0.5, None, True, -3]}
    assert not set("<>&\u2028\u2029") & set(data(wild))
    assert json.loads(data(wild)) == wild
    assert json.loads(data([float("nan"), float("inf"), np.pi])) == [None, None, 3.1415927]


def test_nasty_names_are_shown_as_text(tmp_path: Path) -> None:
    """Labels, names and titles that look like markup create no elements."""
    samples.sweep(tmp_path / "s", name=samples.NASTY, label=samples.NASTY)
    out = write_report([tmp_path / "s"], tmp_path / "r.html", title=samples.NASTY)
    page = read(out)
    assert not [tag for tag, _ in page.tags if tag == "img"]
    assert [tag for tag, given in page.tags if tag == "script" and not given.get("type")] == ["script"]
    assert any(samples.NASTY in words for words in page.words)
    assert samples.NASTY in {row[1] for row in page.tables["By world and agent"]}
    names = {series["name"] for chart in page.charts.values() for series in chart.get("series", ())}
    assert samples.NASTY in names


# --- The page -----------------------------------------------------------------------


def test_a_page_needs_nothing_else(folders: Path, tmp_path: Path) -> None:
    """No element references an external resource, and the security policy allows only the page's own script and style."""
    out = write_report([folders], tmp_path / "r.html")
    source = out.read_text(encoding="utf-8")
    for tag, given in read(out).tags:
        assert "src" not in given, tag
        assert (given.get("href") or "#").startswith(("#", "data:")), tag
        assert not any(name.startswith("on") or name == "style" for name in given), tag
    assert "http://" not in source.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in source
    assert "@import" not in source
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', source)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'")
    for element in ("style", "script"):
        (body,) = re.findall(f"<{element}>(.*?)</{element}>", source, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{element}-src 'sha256-{digest}'" in policy[1]
    assert "unsafe" not in policy[1]


def test_the_same_folders_make_the_same_page(folders: Path, tmp_path: Path) -> None:
    """A page is deterministic: it has no date and a fixed order."""
    one, two = (write_report([folders], tmp_path / name).read_bytes() for name in ("1.html", "2.html"))
    assert one == two


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of 100,000 runs in 20,000 cells."""
    cells, seeds = 20_000, 5
    rng = np.random.default_rng(0)
    count = cells * seeds
    frame = pl.DataFrame(
        {
            "cell": np.repeat([f"{i:016x}" for i in range(cells)], seeds),
            "world": ["two_state"] * count,
            "agent": np.where(np.arange(count) % 2, "smart", "harmonic_r"),
            "log_scale": np.repeat(rng.uniform(1e-5, 1e-1, cells), seeds),
            "step_size": np.repeat(rng.uniform(1e-4, 1e-1, cells), seeds),
            "steps": np.full(count, 1000),
            "episodes": np.full(count, 1),
            "seed": np.tile(np.arange(seeds), cells),
            "rate": rng.normal(size=count),
            "reward": rng.normal(size=count),
            "duration": rng.uniform(1, 2, count),
            "diverged": np.zeros(count, dtype=bool),
            "error": pl.Series([None] * count, dtype=pl.String),
        }
    )
    folder = tmp_path_factory.mktemp("large")
    frame.write_parquet(folder / "results.parquet")
    return folder


def test_a_large_sweep_stays_small(large: Path, tmp_path: Path) -> None:
    """Of 20,000 cells the page keeps what fits, says what it omitted, and stays under 8 MB."""
    out = write_report([large], tmp_path / "r.html")
    assert out.stat().st_size < 8_000_000
    page = read(out)
    assert len(page.tables["Means over the seeds of each cell"]) <= 301
    assert any("cells are left out" in words for words in page.words)


def test_what_cannot_fit_is_thinned_out_or_refused(
    monkeypatch: pytest.MonkeyPatch, large: Path, tmp_path: Path
) -> None:
    """Detail is reduced until the page fits; if that fails, one sentence says so."""
    out = tmp_path / "r.html"
    whole = write_report([large], out).stat().st_size
    monkeypatch.setattr(page_module, "LARGEST", whole - 1)
    assert write_report([large], out).stat().st_size < whole
    monkeypatch.setattr(page_module, "LARGEST", 1000)
    with pytest.raises(ValueError, match=r"MB, more than .*; give fewer folders"):
        write_report([large], out)


# --- Numbers ------------------------------------------------------------------------


def test_a_sweeps_numbers_are_those_of_its_table(folders: Path, tmp_path: Path) -> None:
    """The summary, the means of the cells and the lines by option are computed from results.parquet."""
    page = read(write_report([folders / "sweep"], tmp_path / "r.html"))
    results = pl.read_parquet(folders / "sweep" / "results.parquet")
    shown = [[float(value) for value in row[2:] if value] for row in page.values["By world and agent"][1:]]
    assert shown == [list(map(float, row[2:])) for row in summarise(results).iter_rows()]

    smart = results.filter((pl.col("agent") == "smart") & (pl.col("step_size") == 0.01))
    one = smart.filter(pl.col("log_scale") == 1e-3)
    earned = float((one["reward"] / one["duration"]).mean())  # type: ignore[arg-type]
    header, *rows = page.tables["Means over the seeds of each cell"]
    values = page.values["Means over the seeds of each cell"][1:]
    wanted = [
        float(value[header.index("earned")] or "nan")
        for row, value in zip(rows, values, strict=True)
        if row[1] == "SMART" and float(value[2] or 0) == 1e-3 and float(value[3] or 0) == 0.01
    ]
    assert wanted == [pytest.approx(earned, rel=1e-12)]

    chart = page.charts["Learned rate by log scale: small"]
    series = {one["name"]: one for one in chart["series"]}["SMART"]
    rates = results.filter(pl.col("agent") == "smart").group_by("log_scale").agg(pl.col("rate").median())
    assert series["y"] == pytest.approx(rates.sort("log_scale")["rate"].to_list(), rel=1e-7)
    assert {"Learned rate: two_state, small", "Earned so far: two_state, small"} <= set(page.charts)


def test_a_solutions_numbers_are_those_of_the_solver(folders: Path, tmp_path: Path) -> None:
    """Gain, policy, names, bias and shares of time are those in solution.json, and hence the solver's."""
    page = read(write_report([folders / "solution"], tmp_path / "r.html"))
    given = json.loads((folders / "solution" / "solution.json").read_text())
    assert given["gain"] == pytest.approx(sj.solve(sj.problems.admission_control(capacity=5)).gain)
    rows = page.tables["The policy: admission-control"][1:]
    values = page.values["The policy: admission-control"][1:]
    assert [float(row[3] or "nan") for row in values] == given["bias"]
    assert [float(row[5] or "nan") for row in values] == given["by_state"]["share_of_time"]
    names = given["action_names"]
    assert [row[2] for row in rows] == [str(names[a] if names else a) for a in given["policy"]]
    chart = page.charts["Bias of each state, and the action taken there: admission-control"]
    places = [x for one in chart["series"] for x in xs(chart, one)]
    assert sorted(places) == list(range(given["states"]))


def test_an_audit_says_which_estimator_does_harm(folders: Path, tmp_path: Path) -> None:
    """Each estimator's verdict, limit and line are those of the audit; equal limits are grouped."""
    out = write_report([folders / "audit"], tmp_path / "r.html")
    page = read(out)
    given = json.loads((folders / "audit" / "audit.json").read_text())
    limits = {one["estimator"]: one for one in given["estimators"]}
    for row, values in zip(
        page.tables["Limits of the estimators: long-shot"][1:],
        page.values["Limits of the estimators: long-shot"][1:],
        strict=True,
    ):
        assert (float(values[2]) if values[2] else None) == limits[row[0]]["rate"]
        keeps = limits[row[0]]["keeps_optimum"]
        assert row[4] == ("unknown" if keeps is None else "yes" if keeps else "no")
    chart = page.charts["Value of the best policy at each rate: long-shot"]
    lines = {one["name"]: one["vertical"] for one in chart["series"] if "vertical" in one}
    assert lines["Harmonic, CumulativeHarmonic"] == 1.8
    assert sum(len(name.split(", ")) for name in lines) == sum(
        one["rate"] is not None for one in limits.values()
    )
    (span,) = chart["spans"]
    assert (span["from"], span["to"]) == (pytest.approx(given["low"]), None)
    told = " ".join(page.words)
    assert "Harmonic (Harmonic R-Learning), CumulativeHarmonic keep the optimum does not hold" in " ".join(
        told.split()
    )


def test_a_verdict_shows_what_was_earned_and_what_speaks_against_it(tmp_path: Path) -> None:
    """The measured, the learned and the exact rates are rows of the picture; warnings appear as sentences."""
    page = read(write_report([samples.verdict(tmp_path / "v")], tmp_path / "r.html"))
    rows = page.charts["What the policy earns: queue.sojourn"]["rows"]
    assert [one["value"] for one in rows] == [2.5, 2.625, 2.5625, 2.6875]
    assert (rows[0]["low"], rows[0]["high"]) == (2.25, 2.75)
    said = " ".join(page.words)
    assert samples.NASTY in said
    assert "(2.25 to 2.75); there are reasons not to trust it." in said
    assert "94%" in said


def test_a_comparison_shows_every_agent(tmp_path: Path) -> None:
    """The agents' table, curves and final gains are those in comparison.json, with the text about them."""
    folder = samples.comparison(tmp_path / "c")
    page = read(write_report([folder], tmp_path / "r.html"))
    given = json.loads((folder / "comparison.json").read_text())["problems"][0]
    rows = page.values["The agents on long-shot"][1:]
    assert [float(row[3] or "nan") for row in rows] == [one["relative_gain"] for one in given["agents"]]
    earned = page.charts["On the way: long-shot"]["rows"]
    assert [one["low"] for one in earned] == pytest.approx([one["earning"]["low"] for one in given["agents"]])
    curves = page.charts["Learning: long-shot"]["series"]
    assert [one["y"] for one in curves] == [pytest.approx(one["relative_gain"]) for one in given["curves"]]
    overview = page.charts["Relative gain at the end, mean over the runs"]
    assert [row[0] for row in overview["values"]] == pytest.approx(
        [one["relative_gain"] for one in given["agents"]]
    )
    ends = page.charts["At the end: long-shot"]["rows"]
    assert [one["low"] for one in ends] == pytest.approx([one["relative_low"] for one in given["agents"]])
    assert any(given["findings"][0] in words for words in page.words)


def test_the_simulation_study_is_the_summarys(small_studies: Path, tmp_path: Path) -> None:
    """Medians, ranges, statements and findings are those in summary.json; maps are computed from the runs."""
    page = read(write_report([small_studies / "robustness"], tmp_path / "r.html"))
    given = json.loads((small_studies / "robustness" / "summary.json").read_text())
    series = {one["name"]: one for one in page.charts["Runs that end with action B"]["series"]}
    for agent, name in given["names"].items():
        assert series[name]["y"] == pytest.approx([100 * x for x in given["success_median"][agent]])
    low = [100 * low for low, _ in given["success_range"]["harmonic_r"]]
    assert series["Harmonic R-Learning"]["low"] == pytest.approx(low)
    said = " ".join(page.words)
    for one in given["statements"]:
        assert one["statement"][1:] in said
        assert one["verdict"][1:] in said
    assert all(finding in said for finding in given["findings"])
    runs = pl.read_parquet(small_studies / "robustness" / "results.parquet")
    chart = page.charts["Harmonic R-Learning"]
    place = len(chart["choices"][0]["values"]) - 1
    cell = runs.filter(
        (pl.col("agent") == "harmonic_r")
        & (pl.col("log_scale") == runs["log_scale"].max())
        & (pl.col("step_size") == runs["step_size"].unique().sort()[3])
        & (pl.col("rate_step_size") == runs["rate_step_size"].min())
    )
    assert cell.height == given["seeds"]
    assert chart["variants"][str(place)]["values"][3][0] == 100 * float(cell["success"].mean())  # type: ignore[arg-type]


def test_the_market_study_names_its_data_and_calls_it_synthetic(small_studies: Path, tmp_path: Path) -> None:
    """The data's name and hash are shown; synthetic data is labelled in the heading and in every chart's title."""
    page = read(write_report([small_studies / "bitcoin"], tmp_path / "r.html"))
    given = json.loads((small_studies / "bitcoin" / "summary.json").read_text())
    said = " ".join(page.words)
    assert given["data"]["sha256"] in said
    assert "Bitcoin: the market study of Harmonic R-Learning (synthetic data)" in said
    assert page.charts
    assert all("synthetic" in title for title in page.charts)
    chart = page.charts["Scaled durations, against SMART (synthetic data)"]
    ratios = given["win_ratio"]["scaled"]["smart"]
    for k, row in zip(("3", "6"), chart["values"], strict=True):
        assert row == pytest.approx([ratios[k][b] for b in ("0.01", "0.05", "0.1")], rel=1e-7)
    differences = pl.read_parquet(small_studies / "bitcoin" / "differences.parquet")
    moves = pl.read_parquet(small_studies / "bitcoin" / "segments.parquet")
    cell = differences.filter(
        (pl.col("segment") == 5)
        & (pl.col("state_size") == 6)
        & (pl.col("rate_step_size") == 0.1)
        & (pl.col("opponent") == "relaxed_smart")
        & (pl.col("duration_rule") == "scaled")
    )
    movement = moves.filter(pl.col("segment") == 5)["total_movement"][0]
    shown = page.charts["Harmonic's final value minus the other's on each segment (synthetic data)"]
    line = variant(shown, "1|1|2")[1]
    assert line["y"][xs(shown, line).index(5)] == pytest.approx(
        1000 * cell["difference"][0] / movement, rel=1e-6
    )
    curves = pl.read_parquet(small_studies / "bitcoin" / "curves.parquet")
    chosen = curves.filter(
        (pl.col("segment") == 9)
        & (pl.col("state_size") == 3)
        & (pl.col("duration_rule") == "random")
        & (pl.col("rate_step_size").is_null() | (pl.col("rate_step_size") == 0.05))
    )
    along = page.charts["Accumulated reward along a segment (synthetic data)"]
    lines = variant(along, "2|0|0|1")
    assert {line["name"] for line in lines} == set(given["names"].values())
    for line in lines:
        agent = next(key for key, name in given["names"].items() if name == line["name"])
        last = chosen.filter(pl.col("agent") == agent).sort("step").row(-1, named=True)
        assert xs(along, line)[-1] == last["step"]
        ends = [last["mean"], last["mean"] - last["std"], last["mean"] + last["std"]]
        assert [line[name][-1] for name in ("y", "low", "high")] == pytest.approx(ends, rel=1e-4)
    assert all(finding.split("**")[-1] in said for finding in given["findings"] if "*" not in finding)


def test_claims_are_a_table_that_can_be_searched(folders: Path, tmp_path: Path) -> None:
    """Every claim of the ledger has a row with its verdict, and its text is escaped."""
    page = read(write_report([folders / "audit"], tmp_path / "r.html", claims=True))
    rows = page.tables["The ledger of claims"][1:]
    assert [(row[0], row[1]) for row in rows] == [(one.id, one.verdict) for one in load_claims()]
    assert any("data-search" in given for _, given in page.tags)
    wild = Claim("c", "1: here", "a < b", "holds", "<i>", ("tests/a.py::test_b", "sojourn audit x"))
    page = Page(page_of([claims_section([wild])]))
    assert page.tables["The ledger of claims"][1] == [
        *("c", "holds", "a < b", "<i>", "1: here", "tests/a.py::test_b; sojourn audit x")
    ]


def test_empty_places_have_no_value() -> None:
    """A missing or non-finite number is a dash and has no sort value."""
    shown = table(DataTable("t", [Column("x")], [(None,), (float("nan"),), (0.25,)]))
    assert shown.count("data-value") == 1
    assert 'data-value="0.25"' in shown


# --- Folders ------------------------------------------------------------------------


def test_a_folder_of_folders_stands_for_all_of_them(folders: Path, tmp_path: Path) -> None:
    """Each kind of folder is recognised by its files, and one given twice is shown once."""
    out = write_report([folders, folders / "audit"], tmp_path / "r.html")
    kinds = [given.get("id") for tag, given in read(out).tags if tag == "section"]
    assert kinds == ["part-1", "part-2", "part-3"]


@pytest.mark.parametrize("kind", ["solution", "audit", "sweep", "verdict"])
def test_a_damaged_folder_gets_one_sentence(kind: str, folders: Path, tmp_path: Path) -> None:
    """A truncated, malformed or missing file is named in one sentence, and nothing is written."""
    folder, out = tmp_path / kind, tmp_path / "r.html"
    if kind == "verdict":
        samples.verdict(folder)
    else:
        shutil.copytree(folders / kind, folder)
    file = folder / ("results.parquet" if kind == "sweep" else f"{kind}.json")
    whole = file.read_bytes()
    for content in (whole[: len(whole) // 2], b"[]", b'{"name": 3}', b"\xff\xfe"):
        file.write_bytes(content)
        with pytest.raises(ValueError, match=str(folder)) as caught:
            write_report([folder], out)
        assert "\n" not in str(caught.value)
    assert not out.exists()
    # As a subfolder it is skipped, and the page says why.
    shutil.copytree(folders / "solution", tmp_path / "whole")
    page = read(write_report([tmp_path], out))
    assert any("could not be read" in words for words in page.words)


@pytest.mark.parametrize("kind", ["solution", "audit", "comparison", "robustness", "bitcoin"])
def test_wrong_entries_get_one_sentence(
    kind: str, folders: Path, small_studies: Path, tmp_path: Path
) -> None:
    """Whatever replaces an entry, the page is made or one sentence names the folder."""
    folder = tmp_path / kind
    if kind == "comparison":
        samples.comparison(folder)
    else:
        root = small_studies if kind in ("robustness", "bitcoin") else folders
        shutil.copytree(root / kind, folder, ignore=shutil.ignore_patterns("sweep"))
    file = folder / ("summary.json" if kind in ("robustness", "bitcoin") else f"{kind}.json")
    given = json.loads(file.read_text())
    wrongs = (-1, "<b>") if "summary" in file.name else (None, "<b>", [], {}, -1, [[1]], {"x": "y"})
    refused = []
    for key in given:
        for wrong in wrongs:
            file.write_text(json.dumps({**given, key: wrong}))
            try:
                write_report([folder], tmp_path / "r.html")
            except ValueError as error:
                refused.append(str(error))
    assert len(refused) > 5
    assert all(str(folder) in said and "\n" not in said for said in refused)


def test_a_folder_with_a_short_name_gets_a_sentence_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing entry is reported in one sentence, even if the folder's name is a letter of the entry's name."""
    monkeypatch.chdir(tmp_path)
    Path("e").mkdir()
    Path("e", "comparison.json").write_text('{"problems": 3}')
    with pytest.raises(
        ValueError,
        match=r"e/comparison\.json is damaged or of another version \(the content lacks the key 'settings'\)",
    ):
        write_report(["e"])
    assert not Path("report.html").exists()


def test_what_is_not_finished_says_so(folders: Path, tmp_path: Path) -> None:
    """An unfinished sweep, study or comparison is reported as such, unlike a folder of other files."""
    for name, file in (("sweep", "sweep.json"), ("compare", "settings.json")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text("{}")
    (tmp_path / "study" / "sweep").mkdir(parents=True)
    (tmp_path / "study" / "sweep" / "sweep.json").write_text('{"name": "bitcoin"}')
    for name in ("sweep", "compare", "study"):
        with pytest.raises(ValueError, match="not finished; run it again to go on"):
            write_report([tmp_path / name], tmp_path / "r.html")
    (tmp_path / "other").mkdir()
    with pytest.raises(
        ValueError, match="holds no output of reproduce, sweep, compare, solve, audit, log, rates or evaluate"
    ):
        write_report([tmp_path / "other"], tmp_path / "r.html")
    with pytest.raises(ValueError, match="does not exist"):
        write_report([tmp_path / "nowhere"], tmp_path / "r.html")
    with pytest.raises(ValueError, match="nothing to report on"):
        write_report([], tmp_path / "r.html")


def test_the_command_prints_where_the_page_is(folders: Path, tmp_path: Path) -> None:
    """`sojourn report` writes the page and prints its path; a wrong folder gets one line."""
    out = tmp_path / "page.html"
    done = ask("report", folders / "audit", "--out", out, "--title", "Mine & yours")
    assert (done.returncode, done.stdout.strip()) == (0, f"{out} is written; open it in a browser")
    assert "<title>Mine &amp; yours</title>" in out.read_text(encoding="utf-8")
    wrong = ask("report", tmp_path / "nowhere", "--out", out)
    assert wrong.returncode == 1
    assert wrong.stderr.startswith("sojourn: ")
    assert wrong.stderr.count("\n") == 1


def test_the_assets_are_in_the_wheel() -> None:
    """The page's assets are files that the package ships."""
    assets = Path(sj.__file__).with_name("report") / "assets"
    names = {path.name for path in assets.iterdir()}
    assert {"page.css", "charts.js", "tables.js", "start.js"} <= names
    assert all(path.suffix in (".css", ".js") for path in assets.iterdir())


def test_two_reports_to_one_place_at_once(tmp_path: Path) -> None:
    """Four concurrent writers of the same page all succeed, and the page is complete."""
    solve_named("gosavi", {}).write(tmp_path / "solved")
    alone = write_report([tmp_path / "solved"], tmp_path / "alone.html").read_bytes()
    (tmp_path / "out").mkdir()
    with ThreadPoolExecutor(4) as pool:
        for path in pool.map(
            lambda _: write_report([tmp_path / "solved"], tmp_path / "out" / "r.html"), range(12)
        ):
            assert path.read_bytes() == alone
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["r.html"]
