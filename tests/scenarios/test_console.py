"""The table of results that a run ends with: which numbers stand where."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from probe.table import MetricRow, SummaryRow
from scenarios.console import show_results


def pra(learner: str, feature: str, mean: float) -> SummaryRow:
    return SummaryRow(
        learner=learner,
        feature=feature,
        depth=1,
        measure="pra",
        place=None,
        mean=mean,
        std=0.01,
        seeds=2,
    )


def forgetting(learner: str, head: str, k: int, mean: float) -> MetricRow:
    return MetricRow(
        learner=learner,
        paper="chaudhry",
        metric=f"forgetting[{k}]",
        head=head,
        mean=mean,
        std=0.02,
        seeds=2,
    )


def shown(metrics: list[MetricRow]) -> dict[str, list[str]]:
    """Return the cells of each learner's row."""
    summary = [
        pra(name, f, m) for name, m in (("er", 0.9), ("ft", 0.8)) for f in ("conv1", "output")
    ]
    out = io.StringIO()
    show_results(Console(file=out, width=100), summary, metrics, ("conv1", "output"))
    cells = [line.split() for line in out.getvalue().splitlines() if line.split()]
    return {line[0]: line[1:] for line in cells if line[0] in ("er", "ft")}


F = {("er", "single"): 0.2, ("er", "multi"): 0.1, ("ft", "single"): 0.6, ("ft", "multi"): 0.3}


@pytest.mark.parametrize(
    ("heads", "er", "ft"),
    [
        (("single", "multi"), "20.0±2.0", "60.0±2.0"),
        (("multi", "single"), "10.0±2.0", "30.0±2.0"),
        (("multi",), "10.0±2.0", "30.0±2.0"),
    ],
)
def test_forgetting_is_that_after_the_last_task_under_the_main_head(
    heads: tuple[str, ...], er: str, ft: str
) -> None:
    """Rows come as in metrics.csv: learner by learner, head by head, task by task."""
    metrics = [
        forgetting(learner, head, k, F[learner, head] if k == 3 else 0.99)
        for learner in ("er", "ft")
        for head in heads
        for k in (2, 3)
    ]
    assert shown(metrics) == {
        "er": ["90.0±1.0", "90.0±1.0", er],
        "ft": ["80.0±1.0", "80.0±1.0", ft],
    }


def test_what_was_not_measured_is_a_dash() -> None:
    assert shown([forgetting("er", "single", 2, 0.5)])["ft"] == ["80.0±1.0", "80.0±1.0", "-"]
    assert shown([])["er"] == ["90.0±1.0", "90.0±1.0", "-"]
