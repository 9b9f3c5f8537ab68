import math

import numpy as np
import pytest
from matplotlib.colors import to_hex

from figures.kinds import spider
from figures.tables import Tables
from probe.metrics import diaz_rodriguez
from tests.figures import invented, seen

FIVE = ["finetune", "cumulative", "ewc", "lwf", "si"]
LEARNERS = [invented.learner(name) for name in FIVE]


@pytest.fixture(scope="module")
def table():
    return invented.metrics(FIVE)


@pytest.fixture(scope="module")
def figure(table):
    return spider.draw(Tables(metrics=table, learners=LEARNERS))


def values(table, learner):
    own = {row.metric: row.mean for row in table if row.learner == learner}
    return [own[metric] for metric in invented.CRITERIA]


def spokes(line):
    """The radii of a closed polygon, after a check that the spokes are where they should be."""
    angles, radii = seen.points(line).T
    assert angles[:-1] == pytest.approx(np.arange(7) * 2 * math.pi / 7)
    assert (angles[0], radii[0]) == (angles[-1], radii[-1])
    return pytest.approx(radii[:-1].tolist())


def small(figure):
    return {axes.get_title(): axes for axes in figure.axes if axes.get_title() != "All learners"}


def test_the_spokes_are_the_papers_criteria_in_its_order():
    assert tuple(spider.CRITERIA) == diaz_rodriguez.CRITERIA
    assert tuple(spider.CRITERIA.values()) == invented.CRITERIA


def test_the_large_panel_holds_every_learner_by_its_seven_criteria(figure, table):
    (large,) = (axes for axes in figure.axes if axes.get_title() == "All learners")
    for name, line in zip(FIVE, large.lines, strict=True):
        assert values(table, name) == spokes(line)
        assert line.get_color() == seen.color(name)


def test_spokes_are_named_at_their_ends_and_clockwise_from_the_top(figure):
    for axes in figure.axes:
        middle = axes.transData.transform((0, 0))
        names = [text for text in axes.texts if text.get_text() in spider.CRITERIA]
        assert [text.get_text() for text in names] == list(spider.CRITERIA)
        for k, text in enumerate(names):
            box, angle = text.get_window_extent(), k * 2 * math.pi / 7
            away = (box.min + box.max) / 2 - middle
            end = axes.transData.transform((angle, 1)) - middle
            assert np.hypot(*away) > np.hypot(*end)
            assert away @ end / np.hypot(*away) / np.hypot(*end) > 0.95
            assert end / np.hypot(*end) == pytest.approx([math.sin(angle), math.cos(angle)])


def test_each_other_learner_stands_between_its_bounds(figure, table):
    panels = small(figure)
    assert list(panels) == ["EWC", "LwF", "SI"]
    for name, axes in zip(["ewc", "lwf", "si"], panels.values(), strict=True):
        for learner, line in zip(["finetune", "cumulative", name], axes.lines, strict=True):
            assert values(table, learner) == spokes(line)
        (shade,) = [patch for patch in axes.patches if patch.get_fill()]
        assert to_hex(shade.get_facecolor()) == seen.color(name).lower()
        assert np.asarray(shade.get_xy())[:7, 1].tolist() == values(table, name)


def test_bounds_are_known_by_their_kind_and_by_storing_nothing():
    """Without any there is the large panel alone."""
    learners = [
        invented.learner("plain", "finetune"),
        invented.learner("joint", "cumulative"),
        invented.learner("with-samples", "finetune", per_class=10, sampling="uniform"),
        invented.learner("mine", "ewc"),
    ]
    names = [row.learner for row in learners]
    for first, lines in ((0, [4, 3, 3]), (1, [3, 2, 2]), (2, [2])):
        table = invented.metrics(names[first:])
        figure = spider.draw(Tables(metrics=table, learners=learners))
        assert [len(axes.lines) for axes in figure.axes] == lines
        assert list(small(figure)) == (["with-samples", "mine"] if first < 2 else [""])


@pytest.mark.parametrize("metric", invented.CRITERIA)
def test_a_learner_that_lacks_a_criterion_is_left_out(metric, table):
    names = ["finetune", "ewc"]
    rows = [row for row in table if (row.learner, row.metric) != ("ewc", metric)]
    some = [row for row in rows if row.learner in names]
    assert seen.legend(spider.draw(Tables(metrics=some, learners=LEARNERS))) == ["Finetune"]
    none = [row for row in rows if row.metric != metric]
    assert spider.draw(Tables(metrics=none, learners=LEARNERS)) is None


@pytest.mark.parametrize(
    "others", [1, 3, *(pytest.param(k, marks=pytest.mark.slow) for k in (5, 12))]
)
def test_panels_do_not_overlap_and_the_large_one_is_the_largest(others):
    names = ["finetune", *(f"own{k}" for k in range(others))]
    learners = [invented.learner(name) for name in names]
    figure = spider.draw(Tables(metrics=invented.metrics(names), learners=learners))
    first, *rest = sorted((axes.bbox for axes in figure.axes), key=lambda box: -box.width)
    assert len(rest) == others
    assert all(first.width > 1.8 * box.width for box in rest)
    boxes = [first, *rest]
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])
