import pytest

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
