"""The pages about the planner and about networks agree with the measurements."""

from __future__ import annotations

import json
import re

import numpy as np

from site_builder import DOCS, loaded
from sojourn.models.problems import PROBLEMS

measured = loaded("measured")
fleet = loaded("fleet")
baselines = loaded("baselines")
DATA = measured.read()


def test_the_planner_keeps_what_it_promises() -> None:
    """Its policies reach .99 on all named problems after 30,000 steps and .97 after 10,000; .97 and .9 on forty others."""
    assert {row["name"] for row in DATA["named"]} <= set(PROBLEMS)
    assert len(DATA["named"]) >= 11
    assert all(row["policy_30000"]["mean"] >= 0.99 for row in DATA["named"])
    assert sum(row["policy_10000"]["mean"] >= 0.97 for row in DATA["named"]) >= 10
    assert next(row for row in DATA["named"] if row["name"] == "four-rooms")["earned"]["mean"] >= 0.85
    finals = [row["policy_30000"]["mean"] for row in DATA["others"]]
    assert len(finals) >= 40
    assert np.mean(finals) >= 0.97
    assert min(finals) >= 0.9


def test_the_best_tuned_agents_beside_it_have_no_model() -> None:
    """The agents shown beside the planner are the comparison's best model-free ones."""
    comparison = json.loads((DOCS / "data" / "comparison.json").read_text())
    for found in comparison["problems"]:
        without = [
            row["earning"]["earned"]
            for row in found["agents"]
            if row["name"] not in ("planner", "H-learning")
        ]
        assert measured.rivals()[found["name"]]["mean"] == max(without)


def test_the_sentences_count_what_the_tables_show() -> None:
    """The counts in the text match the tables, and every placeholder of the page is filled."""
    page = (DOCS / "planner.md").read_text()
    assert set(re.findall("<!-- planner: .+? -->", page)) == set(measured.places())
    assert len(measured.named_table().splitlines()) == 2 + len(DATA["named"])
    assert len(measured.others_table().splitlines()) == 2 + len(DATA["others"])
    assert len(measured.time_table().splitlines()) == 2 + len(DATA["time"])
    ahead = sum(row["earned"]["mean"] >= row["rival_earned"]["mean"] for row in DATA["others"])
    assert f"on {ahead} of them" in measured.others_summary()
    assert f"Over {len(DATA['others'])} problems" in measured.others_summary()
    assert f"{len(DATA['others'])} others, which played no part in that" in page
    assert f"at least .99 on {len(DATA['named'])}" in measured.named_summary()
    short = measured.named_summary().partition("falls short on ")[2].rstrip(".").split(", ")
    rows = {row["name"]: row for row in DATA["named"]}
    assert all(rows[name]["earned"]["mean"] < measured.rivals()[name]["low"] for name in short)


def test_tiles_and_the_wrapper_keep_what_the_page_says() -> None:
    """Tiles earn .985, and more than the best rule on the fleet; RateReward helps both algorithms; placeholders are filled."""
    page = (DOCS / "networks.md").read_text()
    assert set(re.findall("<!-- tiles: .+? -->", page)) == set(fleet.places())
    assert "<!-- baselines -->" in page
    rows = {row["name"]: row for row in fleet.read()["learned"]}
    assert all(rows[name]["mean"] >= 0.985 * rows[name]["exact"] for name in ("wear", "offers"))
    assert rows["fleet"]["mean"] > fleet.best_rule()["high"] > 2.62
    assert f"earns {fleet.best_rule()['mean']:.3f}" in fleet.fleet_sentence()
    found = baselines.read()
    gains = {(row["algorithm"], row["reward"]): row["runs"] for row in found["rows"]}
    everything = np.exp(0.25) / (0.5 + np.exp(0.5))  # what taking every job earns
    for algorithm in ("DQN", "PPO"):
        assert all(abs(run["gain"] - everything) < 1e-3 for run in gains[algorithm, "the reward itself"])
        assert min(run["gain"] for run in gains[algorithm, "RateReward"]) > 0.98 * found["exact"]
    assert len(baselines.table().splitlines()) == 2 + len(found["rows"])
    assert f"{found['steps']:,} steps on `sojourn/Offers-v0`" in page


def test_the_table_of_rate_reward_is_what_was_measured() -> None:
    """The page on networks has the table of `docs/rate_reward.py`, and the three jobs earn what they must, by hand."""
    study = loaded("rate_reward")
    assert study.table() in (DOCS / "networks.md").read_text(encoding="utf-8")
    runs = json.loads(study.FILE.read_text())["runs"]
    jobs = {key: rate for key, rate in runs.items() if key.startswith("three jobs")}
    assert all(rate == (3.0 / 4.0 if "RateReward" in key else 4.0 / 8.0) for key, rate in jobs.items())
    assert len(jobs) >= 4
