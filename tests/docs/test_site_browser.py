"""The site in a real browser: nothing is cut off, on phone or desktop, in light or dark mode."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import matplotlib.image
import pytest

import browsing

pytestmark = browsing.NEEDED
ROOT = Path(__file__).resolve().parents[2]
ARTICLE = re.compile(r"<article.*</article>", re.DOTALL)
# The titles of pages with content beyond the right edge of the screen or, if it scrolls, of its paragraph.
TOO_WIDE = """() => [...document.querySelectorAll(".one")].filter((one) => [...one.querySelectorAll("*")].some((part) => {
    if (part.matches(".md-typeset__scrollwrap")) {
        return part.getBoundingClientRect().right > part.parentElement.getBoundingClientRect().right + 1;
    }
    return part.getBoundingClientRect().right > innerWidth + 1 && !part.closest(".md-typeset__scrollwrap, pre, svg, a:has(> img)");
})).map((one) => one.title)"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site from `make docs`, rebuilt if any of its sources is newer."""
    made, sources = ROOT / "site" / "index.html", [ROOT / "mkdocs.yml", *ROOT.glob("*.md")]
    for part in ("docs", "src"):
        sources += [file for file in (ROOT / part).rglob("*.*") if "__pycache__" not in file.parts]
    if made.exists() and made.stat().st_mtime > max(file.stat().st_mtime for file in sources):
        return made.parent
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True)
    return folder


@pytest.fixture(scope="module")
def all_pages(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The articles of all pages in one page of the site, which is opened once instead of sixty times."""
    pages = sorted(site.rglob("index.html"))
    assert len(pages) > 40
    articles = []
    for page in pages:
        name = str(page.parent.relative_to(site))
        (article,) = ARTICLE.findall(page.read_text(encoding="utf-8"))
        articles.append(f'<div class="one" title="{name}">{article}</div>')
    folder = site / "glossary"  # any page would do
    shell = (folder / "index.html").read_text(encoding="utf-8")
    whole = ARTICLE.sub(lambda _: "".join(articles), shell).replace(
        "<head>", f'<head><base href="{folder.as_uri()}/">', 1
    )
    file = tmp_path_factory.mktemp("pages") / "all.html"
    file.write_text(whole, encoding="utf-8")
    return file


def test_no_page_is_wider_than_the_screen(browser: Any, all_pages: Path) -> None:
    """Wide content scrolls in its own box: no page scrolls sideways, and no table ends outside its page."""
    page = browser.new_page(viewport=browsing.DESKTOP)
    page.goto(all_pages.as_uri())
    page.wait_for_selector(".md-typeset__scrollwrap")
    tables = page.locator(".one table:not([class])").count()
    assert tables == page.locator(".one .md-typeset__scrollwrap table:not([class])").count() > 20
    for view in (browsing.DESKTOP, browsing.PHONE):
        page.set_viewport_size(view)
        assert page.evaluate(TOO_WIDE) == []
        assert page.evaluate("document.scrollingElement.scrollWidth") <= view["width"]
    page.close()


def test_the_sidebar_shows_at_most_twenty_entries(browser: Any, site: Path) -> None:
    """On every kind of page the sidebar is short; pages of other tabs are collapsed."""
    page = browser.new_page(viewport=browsing.DESKTOP)
    for name in (".", "gymnasium", "reference/agents", "decisions/0001-values-and-rules"):
        page.goto((site / name / "index.html").as_uri())
        shown = page.locator(".md-sidebar--primary .md-nav__link:visible").count()
        assert 3 < shown <= 20, name
    page.close()


def test_every_link_leads_somewhere(site: Path) -> None:
    """Every link leads to an existing file and anchor of the site, or to another site."""
    seen = 0
    for page in sorted(site.rglob("index.html")):
        for link in re.findall(r'(?:href|src)="([^"]+)"', page.read_text(encoding="utf-8")):
            if re.match(r"(https?|data|mailto):", link):
                continue
            path, _, place = unquote(link).partition("#")
            target = (page.parent / path).resolve() if path else page
            target = target / "index.html" if target.is_dir() else target
            assert target.is_file(), f"{page.relative_to(site)} links to {link}"
            if place and target.suffix == ".html":
                assert f'id="{place}"' in target.read_text(encoding="utf-8"), link
            seen += 1
    assert seen > 1_000


def test_figures_are_dark_on_a_dark_screen(browser: Any, site: Path) -> None:
    """Figures use the page's background in both modes, and their text has enough contrast."""
    ground = {}
    for scheme in ("light", "dark"):
        page = browser.new_page(viewport=browsing.DESKTOP, color_scheme=scheme)
        page.goto((site / "reproduce" / "index.html").as_uri())
        figure = page.locator("article img").first
        figure.scroll_into_view_if_needed()
        pixels = matplotlib.image.imread(io.BytesIO(figure.screenshot()))[..., :3].mean(axis=2)
        ground[scheme] = float(pixels[2, 2])
        assert abs(pixels - ground[scheme]).max() > 0.7
        page.close()
    assert ground["light"] > 0.95
    assert ground["dark"] < 0.2
