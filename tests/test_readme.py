"""The README's example does what the README says."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from scenarios.study.source import check_study

README = Path(__file__).parents[1] / "README.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README.read_text("utf-8"), re.DOTALL)


def numbers(text: str) -> list[list[float]]:
    return [[float(n) for n in re.findall(r"\d*\.\d*|\d+", line)] for line in text.splitlines()]


def printed_by(example: str, capsys: pytest.CaptureFixture[str]) -> list[list[float]]:
    """The numbers of each line that an example prints below a table's head."""
    exec(compile(example, str(README), "exec"), {})
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.startswith("feature")
    return numbers("\n".join(line for line in lines if not line.startswith("note: ")))


def test_the_python_example_prints_what_stands_below_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Up to the last digits, which depend on the machine."""
    example, *_ = blocks("python")
    (shown,) = blocks("text")
    expected = numbers(shown)[1:]
    printed = printed_by(example, capsys)
    assert [len(line) for line in printed] == [len(line) for line in expected] == [7] * 3
    for got, known in zip(printed, expected, strict=True):
        assert got == pytest.approx(known, abs=0.1)


@pytest.mark.parametrize("at", [1, 2, 3])
def test_the_examples_of_other_models_and_data_run(
    at: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """In at most 25 lines each, and the scores are fractions."""
    example = blocks("python")[at]
    assert example.count("\n") <= 25
    if "transformers" in example:
        pytest.importorskip("transformers", reason="an example uses it: install the extra `zoo`")
    scores = [score for line in printed_by(example, capsys) for score in line[-3:]]
    assert scores
    assert all(0 <= score <= 1 for score in scores)


def test_the_toml_example_is_a_study() -> None:
    (example,) = blocks("toml")
    study = check_study({"name": "example", **tomllib.loads(example)}, "README")
    assert study.learners["er-50"].memory_per_class == 50
    assert study.features_of("er-50") == ("conv2", "conv3", "output")
