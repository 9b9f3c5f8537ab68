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


def test_the_python_example_prints_what_stands_below_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Up to the last digits, which depend on the machine."""
    (example,), (shown,) = blocks("python"), blocks("text")
    exec(compile(example, str(README), "exec"), {})
    printed = numbers(capsys.readouterr().out)
    assert [len(line) for line in printed] == [len(line) for line in numbers(shown)] == [8] * 3
    for got, expected in zip(printed, numbers(shown), strict=True):
        assert got == pytest.approx(expected, abs=0.1)


def test_the_toml_example_is_a_study() -> None:
    (example,) = blocks("toml")
    study = check_study({"name": "example", **tomllib.loads(example)}, "README")
    assert study.learners["er-50"].memory_per_class == 50
    assert study.features_of("er-50") == ("conv2", "conv3", "output")
