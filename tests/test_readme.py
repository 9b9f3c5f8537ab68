"""The examples of the README and of the pages beside it do what they say."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import probe
from scenarios.study.study_file import check_study

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
    page = DOCS / "analyze.md"
    (example,) = blocks("python", page)
    (shown,) = blocks("text", page)
    exec(compile(example, str(page), "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    expected = shown.splitlines()
    assert printed[1:3] == expected[1:3]
    assert printed[0].startswith("model forgot 9")
    for line, known in zip(printed[3:6], expected[3:6], strict=True):
        assert line.split()[0] == known.split()[0]
        numbers, known_numbers = (
            list(map(float, re.findall(r"-?\d+\.\d", text))) for text in (line, known)
        )
        assert numbers[:3] == pytest.approx(known_numbers[:3], abs=15)
    assert (tmp_path / "report.html").is_file()
    assert "\n".join(expected[:6]) in README.read_text("utf-8")


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


def test_the_toml_example_is_a_study():
    (example,) = blocks("toml", DOCS / "study_file.md")
    study = check_study({"name": "example", **tomllib.loads(example)}, "README")
    assert study.learners["er-50"].memory_per_class == 50
    assert study.features_of("er-50") == ("conv2", "conv3", "output")


def test_the_page_of_the_api_has_every_public_name():
    page = (DOCS / "api.md").read_text("utf-8")
    shown = re.findall(r"^\.\. auto\w+:: (?:\S+\.)?(\w+)$", page, re.MULTILINE)
    assert {*probe.__all__} - {*shown} == {"metrics"}  # it has a page of its own
