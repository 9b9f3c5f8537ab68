"""The figures that a study has by default."""

from dataclasses import replace

import pytest

from figures.kinds import KINDS
from figures.options import Options
from figures.plotting import defaults, draw_kinds
from figures.tables import StudyTables
from probe.tables.summary import summarize
from tests.figures import invented, papers, seen

NO_LAYERS = {name: getattr(papers.tables(), name)[:0] for name in ("layers", "causes")}
MANY = ["finetune", "ewc", "si", "er", "lwf", "gem"]


def outputs(learners, tasks=5, shares=False):
    """Return the tables of a study of only outputs; shares: beside an offline network."""
    rows = invented.rows(learners, ["output"], tasks=tasks)
    metrics = invented.metrics(learners, tasks=tasks)
    return StudyTables(
        measurements=rows,
        summary=summarize(rows),
        metrics=metrics[shares | ~metrics["metric"].str.startswith("omega_")],
        learners=invented.kinds(learners),
    )


@pytest.mark.parametrize(
    ("tables", "drawn"),
    [
        (papers.tables(), ["answer", "causes", "layers", "depth", "time", "sessions"]),
        (
            replace(papers.tables(), **NO_LAYERS),
            ["depth", "time", "sessions"],
        ),
        (outputs(MANY), ["sessions", "tradeoff"]),
        (outputs(MANY[:2]), ["matrix", "tradeoff"]),
        (outputs(MANY[:2], tasks=50), ["sessions", "tradeoff"]),
        (outputs(MANY[:1], tasks=50), ["matrix", "tradeoff"]),
        (outputs(MANY, shares=True), ["sessions"]),
        (outputs(MANY[:1], shares=True), ["matrix"]),
    ],
    ids=["all of layers", "no layers.csv", "many", "few", "long", "one", "omegas", "1"],
)
def test_a_study_has_at_most_six_figures_that_mean_something(
    tables, drawn, monkeypatch
):
    seen.without_layout(monkeypatch)
    assert list(draw_kinds((), tables, Options())) == drawn
    assert len(drawn) <= 6
    assert {*drawn} <= {*defaults(tables)} <= {*KINDS}
