import math

import numpy as np
import pytest
from matplotlib.colors import to_hex

import figures
from figures.tables import Tables
from probe.metrics import diaz_rodriguez
from tests.figures import invented, papers, seen

OTHERS = ["mine", "yours", "ewc", *papers.SWEEP]


def values(learner):
    return [papers.metric(name, learner).mean for name in invented.CRITERIA]


def spokes(line):
    """The radii of a closed polygon, after a check that the spokes are where they should be."""
    angles, radii = seen.points(line).T
    assert angles[:-1] == pytest.approx(np.arange(7) * 2 * math.pi / 7)
    assert (angles[0], radii[0]) == (angles[-1], radii[-1])
    return pytest.approx(radii[:-1].tolist())


def test_the_large_panel_holds_every_learner_and_small_ones_each_between_its_bounds():
    assert tuple(diaz_rodriguez.NAMES.values()) == invented.CRITERIA
    large, *small = papers.figure("spider").axes
    assert large.get_title() == "All learners"
    for name, line in zip([*papers.LEARNERS, *papers.SWEEP], large.lines, strict=True):
        assert values(name) == spokes(line)
    assert [axes.get_title() for axes in small] == ["mine", "yours", "EWC", *papers.SWEEP]
    for name, axes in zip(OTHERS, small, strict=True):
        for learner, line in zip(["finetune", "cumulative", name], axes.lines, strict=True):
            assert values(learner) == spokes(line)
        (shade,) = [patch for patch in axes.patches if patch.get_fill()]
        assert to_hex(shade.get_facecolor()) == axes.lines[-1].get_color().lower()
        assert np.asarray(shade.get_xy())[:7, 1].tolist() == values(name)


def test_bounds_are_known_by_their_kind_and_by_storing_nothing():
    """Without any there is the large panel alone."""
    learners = [
        invented.learner("plain", "finetune"),
        invented.learner("joint", "cumulative"),
        invented.learner("with-samples", "finetune", per_class=10, sampling="uniform"),
        invented.learner("mine", "ewc"),
    ]
    for first, lines in ((0, [4, 3, 3]), (1, [3, 2, 2]), (2, [2])):
        metrics = invented.metrics([row.learner for row in learners[first:]])
        figure = figures.spider(Tables(metrics=metrics, learners=learners))
        assert [len(axes.lines) for axes in figure.axes] == lines
