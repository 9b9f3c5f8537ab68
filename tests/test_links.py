"""Relative links of the pages lead to files and headings that exist; `make docs` is not needed."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
# A link's target, or an image's; what begins with a scheme leads elsewhere.
LINK = re.compile(r"\]\((?!\w+:)([^)\s#]*)(?:#([^)\s]+))?\)")
MADE = "auto_gallery/"  # by the build, which checks links to it


def prose(page):
    """The page's text without its blocks of code."""
    return re.sub(
        r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL
    )


def anchors(page):
    """The names of the page's headings."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in headings
    }


def broken(page):
    """The page's links to what does not exist."""
    found = []
    for path, anchor in LINK.findall(prose(page)):
        target = page
        if path:
            target = (page.parent / path).resolve()
        # The site has CONTRIBUTING as a page.
        if target.name == "contributing.md":
            target = ROOT / "CONTRIBUTING.md"
        if path.startswith(MADE) or (
            target.exists() and (not anchor or anchor in anchors(target))
        ):
            continue
        found.append(f"{path}#{anchor}")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_relative_link_leads_somewhere(page):
    assert not broken(page)


def test_a_link_to_nowhere_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A `title`, once\n[a](#a-title-once) [b](#b) [c](gone.md) [d](https://d.e)\n"
    )
    assert broken(page) == ["#b", "gone.md#"]
