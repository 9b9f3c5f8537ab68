import pytest

from figures.kinds import costs
from figures.tables import Tables
from probe.tables.summary import training_seconds
from tests.figures import papers, seen

NAMES = [*papers.LEARNERS, *papers.SWEEP]


def test_markers_are_omega_all_against_megabytes_and_seconds():
    figure = papers.figure("costs")
    assert [axes.get_xlabel() for axes in figure.axes] == ["Model size (MB)", "Training time (s)"]
    sizes = {name: papers.metric("model_size_mb", name).mean for name in NAMES}
    seconds = training_seconds(papers.tables().times)
    for axes, spent in zip(figure.axes, (sizes, seconds), strict=True):
        assert axes.get_xscale() == "log"
        for name, drawn in zip(NAMES, axes.containers, strict=True):
            row = papers.metric("omega_all", name)
            assert seen.points(drawn)[0] == pytest.approx([spent[name], row.mean])
            assert seen.bars(drawn) == pytest.approx(seen.spread([row], scale=1))


def test_without_omega_it_is_the_average_accuracy_in_percent_and_without_sizes_nothing():
    metrics, times = papers.tables().metrics, papers.tables().times
    figure = costs.draw(
        Tables(metrics=[r for r in metrics if r.metric != "omega_all"], times=times)
    )
    assert figure.get_supylabel() == "Average accuracy $A_{3}$ (%)"
    final = [100 * papers.metric("average_accuracy[3]", name).mean for name in NAMES]
    assert [seen.heights(c)[0] for c in figure.axes[0].containers] == pytest.approx(final)
    no_size = [row for row in metrics if row.metric != "model_size_mb"]
    assert costs.draw(Tables(metrics=no_size, times=times)) is None
    alone = [row for row in metrics if row.learner == "ewc"]
    assert costs.draw(Tables(metrics=alone, times=times)) is None
