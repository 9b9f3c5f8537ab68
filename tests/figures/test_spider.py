import math

import numpy as np
import pytest
from matplotlib.colors import to_hex

from figures import appearance as looks
from figures.kinds import spider
from probe.metrics import diaz_rodriguez

METRICS = ["accuracy", "ms", "sss", "ce", "rem", "bwt_plus", "fwt"]
FIVE = ["finetune", "cumulative", "ewc", "lwf", "si"]


@pytest.fixture
def learners(storing):
    return [storing(name) for name in FIVE]


def values(table, learner):
    return [
        next(r.mean for r in table if (r.learner, r.metric) == (learner, metric))
        for metric in METRICS
    ]


def spokes(line):
    """The radii of a closed polygon, after a check that the spokes are where they should be."""
    angles, radii = np.asarray(line.get_xydata()).T
    assert angles[:-1] == pytest.approx(np.arange(7) * 2 * math.pi / 7)
    assert (angles[0], radii[0]) == (angles[-1], radii[-1])
    return pytest.approx(radii[:-1].tolist())


def small(figure):
    return {axes.get_title(): axes for axes in figure.axes if axes.get_title() != "All learners"}


def test_the_spokes_are_the_papers_criteria_in_its_order():
    assert tuple(spider.CRITERIA) == diaz_rodriguez.CRITERIA
    assert list(spider.CRITERIA.values()) == METRICS


def test_the_large_panel_holds_every_learner_by_its_seven_criteria(scored, learners):
    table = scored(FIVE)
    large = next(a for a in spider.draw(table, learners).axes if a.get_title() == "All learners")
    assert len(large.lines) == len(FIVE)
    for name, line in zip(FIVE, large.lines, strict=True):
        assert values(table, name) == spokes(line)
        assert line.get_color() == looks.of_learners([name])[name].color


def test_spokes_are_named_at_their_ends_and_clockwise_from_the_top(scored, learners):
    for axes in spider.draw(scored(FIVE), learners).axes:
        middle = axes.transData.transform((0, 0))
        names = [text for text in axes.texts if text.get_text() in spider.CRITERIA]
        assert [text.get_text() for text in names] == list(spider.CRITERIA)
        for k, text in enumerate(names):
            box = text.get_window_extent()
            away = (box.min + box.max) / 2 - middle
            end = axes.transData.transform((k * 2 * math.pi / 7, 1)) - middle
            assert np.hypot(*away) > np.hypot(*end)
            assert away @ end / np.hypot(*away) / np.hypot(*end) > 0.95
            assert end / np.hypot(*end) == pytest.approx(
                [math.sin(k * 2 * math.pi / 7), math.cos(k * 2 * math.pi / 7)]
            )


def test_each_other_learner_stands_between_its_bounds(scored, learners):
    table = scored(FIVE)
    panels = small(spider.draw(table, learners))
    assert list(panels) == ["EWC", "LwF", "SI"]
    for name, axes in zip(["ewc", "lwf", "si"], panels.values(), strict=True):
        lines = axes.lines
        assert len(lines) == 3
        for learner, line in zip(["finetune", "cumulative", name], lines, strict=True):
            assert values(table, learner) == spokes(line)
        (shade,) = [patch for patch in axes.patches if patch.get_fill()]
        assert to_hex(shade.get_facecolor()) == looks.of_learners([name])[name].color.lower()
        assert np.asarray(shade.get_xy())[:7, 1].tolist() == values(table, name)


def test_bounds_are_known_by_their_kind_and_by_storing_nothing(scored, storing):
    names = ["plain", "plain-with-samples", "joint", "mine"]
    learners = [
        storing("plain", "finetune"),
        storing("plain-with-samples", "finetune", per_class=10, sampling="uniform"),
        storing("joint", "cumulative"),
        storing("mine", "ewc"),
    ]
    panels = small(spider.draw(scored(names), learners))
    assert list(panels) == ["plain-with-samples", "mine"]
    one_bound = small(spider.draw(scored(names[1:]), learners))
    assert [len(axes.lines) for axes in one_bound.values()] == [2, 2]


def test_without_bounds_there_is_the_large_panel_alone(scored, storing):
    figure = spider.draw(scored(["ewc", "si"]), [storing("ewc"), storing("si")])
    assert [len(axes.lines) for axes in figure.axes] == [2]


@pytest.mark.parametrize("metric", METRICS)
def test_a_learner_that_lacks_a_criterion_is_left_out(metric, scored, learners):
    table = [row for row in scored(FIVE) if (row.learner, row.metric) != ("ewc", metric)]
    figure = spider.draw(table, learners)
    assert list(small(figure)) == ["LwF", "SI"]
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["Finetune", "Cumulative", "LwF", "SI"]
    assert spider.draw([row for row in table if row.metric != metric], learners) is None


@pytest.mark.parametrize("others", [1, 3, 5, 12])
def test_panels_do_not_overlap_and_the_large_one_is_the_largest(others, scored, storing):
    names = ["finetune", *(f"own{k}" for k in range(others))]
    figure = spider.draw(scored(names), [storing(name) for name in names])
    first, *rest = sorted((axes.bbox for axes in figure.axes), key=lambda box: -box.width)
    assert len(rest) == others
    assert all(first.width > 1.8 * box.width for box in rest)
    boxes = [first, *rest]
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])
