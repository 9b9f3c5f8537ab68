import pytest

from figures.appearance import learner_appearances
from figures.kinds import tradeoff
from figures.tables import Tables
from tests.figures import invented, seen

# Chaudhry 2018, table 1: (F5, I5) on MNIST, single head.
MNIST = {"finetune": (0.62, 0.29), "ewc": (0.08, 0.77), "icarl_hybrid1": (0.68, -0.01)}


def table(points):
    """Return the metrics of learners with given forgetting and intransigence after 5 tasks."""
    F, I_T = ({name: pair[k] for name, pair in points.items()} for k in (0, 1))
    means = {"forgetting[5]": F, "intransigence[5]": I_T}
    return invented.metrics(points, tasks=5, **means)


def test_markers_and_bars_are_the_tables():
    rows = {(row.learner, row.metric): row for row in table(MNIST)}
    figure = tradeoff.draw(Tables(metrics=list(rows.values())))
    assert figure.get_supxlabel().startswith("Forgetting $F_{5}$")
    assert figure.get_supylabel().startswith("Intransigence $I_{5}$")
    (axes,) = figure.axes
    for name, drawn in zip(MNIST, axes.containers, strict=True):
        assert seen.points(drawn)[0] == pytest.approx(MNIST[name])
        assert drawn.lines[0].get_marker() == learner_appearances([name])[name].marker
        along_x, along_y = (
            seen.spread([rows[name, f"{metric}[5]"]], scale=1)
            for metric in ("forgetting", "intransigence")
        )
        assert seen.bars(drawn, x=True) == pytest.approx(along_x)
        assert seen.bars(drawn) == pytest.approx(along_y)
    level, upright = (line for line in axes.lines if len(line.get_xdata()) == 2)
    assert list(level.get_ydata()) == [0, 0]
    assert list(upright.get_xdata()) == [0, 0]
