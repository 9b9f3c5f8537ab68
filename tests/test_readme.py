"""The examples of the README and of the pages beside it do what they say."""

import csv
import importlib
import re
import runpy
import tomllib
from contextlib import suppress
from functools import reduce
from pathlib import Path

import numpy as np
import pytest

import figures
import probe
from scenarios.study.study_file import check_study, preset_names

README = Path(__file__).parents[1] / "README.md"
DOCS = README.parent / "docs"


def blocks(language, page=README):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text("utf-8"), re.DOTALL)


def scores(text):
    """The numbers of a table below its head, behind each line's feature."""
    head, *lines = text.splitlines()
    assert head.startswith("feature")
    rows = [line.split()[1:] for line in lines if not line.startswith("note: ")]
    return [list(map(float, row)) for row in rows]


def printed_by(example, capsys):
    exec(compile(example, str(README), "exec"), {})
    return scores(capsys.readouterr().out)


def test_the_python_example_prints_what_stands_below_it(tmp_path, monkeypatch, capsys):
    """The same table, in which numbers depend on the machine; and a report."""
    monkeypatch.chdir(tmp_path)
    (example,) = blocks("python")
    (shown,) = blocks("text")
    exec(compile(example, str(README), "exec"), {})
    shown, printed = (text.splitlines() for text in (shown, capsys.readouterr().out))
    assert printed[:2] == shown[:2]
    assert any(line.startswith("model: forgot 9") for line in printed)
    for own, known in zip(printed[2:5], shown[2:5], strict=True):
        got, expected = (list(map(float, line.split()[1:6])) for line in (own, known))
        assert got == pytest.approx(expected, abs=15)
    assert (tmp_path / "report.html").is_file()


def test_the_example_of_a_head_per_task_runs(capsys):
    """And the scores are fractions."""
    (example,) = blocks("python", DOCS / "scenarios.md")
    found = np.concatenate(printed_by(example, capsys))
    assert 0 <= found.min() <= found.max() <= 1


def test_the_metrics_of_a_matrix_are_those_below_the_example(capsys):
    (example,), (shown,) = (
        blocks(own, DOCS / "metrics.md") for own in ("python", "text")
    )
    exec(compile(example, "metrics.md", "exec"), {})
    assert capsys.readouterr().out == shown


def test_the_tables_of_what_we_found_are_those_of_the_studies():
    """As in the CSV files beside the page; another number on it is noticed."""
    written = runpy.run_path(str(DOCS / "found/write.py"))["written"]
    checklist, page = (
        (DOCS / f"{name}.md").read_text("utf-8") for name in ("checklist", "found")
    )
    assert written(checklist) == checklist
    assert written(page) == page
    assert written(page.replace("| 82.7 ± 0.7 |", "| 83.7 ± 0.7 |")) == page


def resolved(name):
    """Return the object of a dotted name, from its module on."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        with suppress(ImportError):
            return reduce(
                getattr, parts[end:], importlib.import_module(".".join(parts[:end]))
            )
    raise AssertionError(name)


def test_every_command_of_the_checklist_is_one():
    """Presets, kinds of figures, names of Python; the studies whose tables it names are there."""
    rows = csv.DictReader(
        (DOCS / "found/checklist.csv").read_text("utf-8").splitlines()
    )
    for row in rows:
        for command in filter(None, row["command"].split("; ")):
            preset = re.match(r"probe run ([\w-]+)", command)
            assert not preset or preset[1] in {*preset_names(), "PRESET"}, command
            for kind in (re.search(r"--only (\S+)", command) or ["", ""])[1].split(","):
                assert not kind or hasattr(figures, kind), command
            if dotted := re.match(r"(probe|scenarios)(\.\w+)+", command):
                assert resolved(dotted[0]) is not None
        assert not row["shipped"] or (DOCS / "found" / row["shipped"]).is_dir(), row
        assert row["command"] or row["remark"], row


def test_the_toml_example_is_a_study():
    (example,) = blocks("toml", DOCS / "study_file.md")
    study = check_study({"name": "example", **tomllib.loads(example)}, "README")
    assert study.learners["er-50"].memory_per_class == 50
    assert study.features_of("er-50") == ("conv2", "conv3", "output")


def test_the_page_of_the_api_has_every_public_name():
    page = (DOCS / "api.md").read_text("utf-8")
    shown = re.findall(r"^\.\. auto\w+:: (?:\S+\.)?(\w+)$", page, re.MULTILINE)
    assert {*probe.__all__} - {*shown} == {"metrics"}  # it has a page of its own
