"""The page of references is complete."""

from __future__ import annotations

import re

from site_builder import DOCS
from sojourn import rates
from sojourn.agents.catalogue import AGENTS
from sojourn.rates.catalogue import ESTIMATORS

CREDITS, _, BIBLIOGRAPHY = (DOCS / "references.md").read_text(encoding="utf-8").partition("## Bibliography")


def test_every_estimator_and_every_agent_has_a_source() -> None:
    """Every estimator and agent is on the page, in code font, with its source."""
    names = {*ESTIMATORS, *(agent.kind for agent in AGENTS.values())}
    assert sorted(name for name in names if f"`{name}`" not in CREDITS) == []


def test_every_docstring_names_its_source() -> None:
    """That of each estimator and each agent has a year or a repository, or says that it is a control, a baseline or ours."""
    made = {name: getattr(rates, name) for name in ESTIMATORS} | {
        name: agent.make for name, agent in AGENTS.items()
    }
    source = re.compile(r"(19|20)\d\d|github\.com/|\b(control|baseline|ours)\b")
    unnamed = [name for name, thing in made.items() if not source.search(thing.__doc__ or "")]
    assert unnamed == ["oracle"]  # the optimal policy


def test_every_entry_is_cited() -> None:
    """Each entry's first author and year are cited above, and the entries are in alphabetical order."""
    entries = re.findall(r"^- (.+)$", BIBLIOGRAPHY, flags=re.MULTILINE)
    assert len(entries) > 50
    firsts = []
    for entry in entries:
        found = re.match(r"(?:[A-Z]\.(?:-[A-Z]\.)? )+(?:van der |van )?([\w-]+)", entry)
        assert found, entry
        year = re.findall(r"\b(?:19|20)\d\d\b", entry.partition("[arXiv")[0])[-1]
        near = rf"{found[1]}[^|;]*?{year}"
        assert re.search(near, " ".join(CREDITS.split())), entry
        firsts.append(found[1].lower())
    assert firsts == sorted(firsts)


def test_every_citation_has_an_entry() -> None:
    """Each cited year belongs to an entry of the same year."""
    cited = set(re.findall(r"\((?:[^()]* )?((?:19|20)\d\d)[ab]?\)", CREDITS))
    assert cited
    assert sorted(year for year in cited if f" {year}" not in BIBLIOGRAPHY) == []
