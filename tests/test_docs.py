"""Tests, presets, options and counts that pages name are those of the code; pages use our words."""

import re
from itertools import chain
from pathlib import Path

import pytest
import typer.main

from figures.kinds import KINDS
from probe.metrics.registry import registered
from scenarios.commands.app import app
from scenarios.learners.catalog import LEARNERS
from scenarios.study.study_toml import preset_names
from tests.test_links import PAGES, ROOT, prose

COMMANDS = typer.main.get_command(app).commands
# Of other programs, which a page names.
FOREIGN = {"--last-layer-analysis", "--save-models", "--savecheck"}
COUNTS = {
    "figures": len(KINDS),
    "methods": len(LEARNERS) - 1,  # `untrained` is none
    "metrics": len(registered()),
    "presets": len(preset_names()),
}
DROPPED = re.compile(
    r"\b(ceilings?|floors?|inconclusive|learners?|offline|features?(?! files?\b))\b",
    re.IGNORECASE,
)
DEFINED = set()
for module in (ROOT / "tests").rglob("test_*.py"):
    DEFINED |= {module.stem, *re.findall(r"def (test_\w+)", module.read_text("utf-8"))}
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def spans(page):
    """The page's code within sentences."""
    return re.findall(r"`([^`]+)`", prose(page))


def options(command):
    """The flags of a command, and of those within it."""
    inner = getattr(command, "commands", {}).values()
    flags = chain.from_iterable(parameter.opts for parameter in command.params)
    return set(flags).union(*map(options, inner))


@every_page
def test_a_test_that_a_page_names_exists(page):
    for span in spans(page):
        path, *name = span.split("::")
        if re.fullmatch(r"tests/[\w/.]+", path):
            assert (ROOT / path).exists(), span
            text = Path(ROOT, path).read_text("utf-8") if name else ""
            assert all(f"def {each}(" in text for each in name), span
        elif re.fullmatch(r"test_\w+(\.py)?", path):
            assert path.removesuffix(".py") in DEFINED, span


@every_page
def test_a_command_that_a_page_names_has_its_presets_and_options(page):
    text = page.read_text("utf-8").replace("\\\n", " ")
    for command, given in re.findall(r"\bprobe (\w+)((?: [\w./:,'{}*=-]+)+)", text):
        if command not in COMMANDS:
            continue
        found = set(re.findall(r" (--[\w-]+)", given))
        assert found <= options(COMMANDS[command]), given
        name = given.split()[0]
        if command == "run" and re.fullmatch(r"[a-z][\w-]*", name):
            assert name in preset_names(), name


@every_page
def test_an_option_that_a_page_names_is_one_of_a_command(page):
    known = set().union(FOREIGN, *map(options, COMMANDS.values()))
    for span in spans(page):
        if span.startswith("--"):
            assert set(re.findall(r"(?<!\S)--[\w-]+", span)) <= known, span


@every_page
def test_a_script_of_the_gallery_that_a_page_names_exists(page):
    for name in re.findall(r"auto_gallery/(plot_\w+)\.rst", prose(page)):
        assert (ROOT / "docs" / "gallery" / f"{name}.py").is_file(), name


@every_page
def test_a_page_counts_what_there_is(page):
    counted = r"(?<!than )\b(\d{2,}) (figures|methods|metrics|presets)\b"
    for number, what in re.findall(counted, prose(page)):
        assert int(number) == COUNTS[what]


@every_page
def test_a_page_uses_our_words(page):
    text = re.sub(
        r"<!-- checklist.*?<!-- end -->|<!--.*?-->", "", prose(page), flags=re.DOTALL
    )
    text = re.sub(r"`[^`]+`|\]\([^)]*\)", "", text)
    assert DROPPED.findall(text) == []


def test_figures_and_the_help_of_flags_use_our_words():
    paths = [ROOT / "scenarios" / "options.py", *(ROOT / "figures").rglob("*.py")]
    text = "".join(path.read_text("utf-8") for path in paths)
    text = re.sub(r'""".*?"""', "", text, flags=re.DOTALL)
    strings = re.findall(r'"([^"\n]*)"', text)
    sentences = " ".join(string for string in strings if " " in string)
    # Names of files and arguments; data have features, too.
    names = r"'[^']+'|--\w+|\{[^}]*\}|\w+[=,]\S+|[Ff]eatures?"
    assert DROPPED.findall(re.sub(names, "", sentences)) == []
