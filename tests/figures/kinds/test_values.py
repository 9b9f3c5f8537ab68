"""Marks of the smaller figures: each is a number of the tables."""

import math

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

import figures
from figures.kinds.tradeoff import QUADRANTS
from figures.tables import StudyTables
from probe.errors import InputError
from probe.metrics import diaz_rodriguez
from probe.tables.matrices import mean_matrices
from probe.tables.summary import summarize
from probe.tables.table_file import new_table
from tests.figures import invented, papers, seen

NAMES = [*papers.LEARNERS, *papers.SWEEP]


def test_bias_has_rows_of_panels_for_each_architecture():
    features = ["conv1", "conv2", "output"]
    trained = "output (as\N{NO-BREAK SPACE}trained)"
    learners = ["finetune", "geppnet", "er", "offline"]
    own = {"geppnet": ["som", "output"]}
    summary = summarize(
        invented.rows(
            learners,
            features,
            tasks=4,
            own=own,
        )
    )
    figure = figures.bias(StudyTables(summary=summary[::-1]))
    assert seen.titles(figure) == [
        "conv1",
        "conv2",
        trained,
        "som",
        trained,
    ]
    assert [axes.get_ylabel() for axes in figure.axes] == [
        "ER, Finetune",
        "",
        "",
        "GeppNet",
        "",
    ]
    specs = [axes.get_subplotspec() for axes in figure.axes]
    cells = [(spec.rowspan.start, spec.colspan.start) for spec in specs]
    assert cells == [
        (0, 0),
        (0, 1),
        (0, 2),
        (1, 0),
        (1, 1),
    ]


def test_matrix_has_r_in_percent_and_hatches_what_was_not_measured():
    rows = invented.rows(["finetune", "er", "gem", "offline"], tasks=4)
    absent = (rows["tasks_seen"] == 2) & (rows["task_position"] == 1).fillna(False)
    rows["value"] = rows["value"].mask(absent)
    panels = seen.titled(figures.matrix(StudyTables(measurements=rows)))
    assert [axes.get_title() for axes in panels] == ["Finetune", "ER", "GEM"]
    for learner, axes in zip(
        ["finetune", "er", "gem"],
        panels,
        strict=True,
    ):
        percent = 100 * mean_matrices(rows)[learner].values
        mesh = axes.collections[0]
        cells = mesh.get_array().reshape(5, 4)
        assert np.argwhere(np.ma.getmaskarray(cells)).tolist() == [[2, 0]]
        learned = np.tri(5, 4, -1) > 0  # of the others nothing is lost
        lost = (percent[1:].diagonal() - percent).clip(0)
        shown = np.where(
            learned | np.isnan(percent),
            lost,
            0,
        )
        assert cells.filled(math.nan) == pytest.approx(shown, nan_ok=True)
        assert axes.patch.get_hatch()
        assert axes.get_ylim()[0] > axes.get_ylim()[1]


def test_bars_of_omegas_stand_side_by_side_in_the_order_of_appearances():
    (axes,) = papers.figure("omegas").axes
    assert seen.tick_names(axes)[:3] == ["Cumulative", "Finetune", "EWC"]
    right = None
    for group in axes.containers:
        if isinstance(group, BarContainer):
            left = np.array([bar.get_x() for bar in group])
            assert right is None or left == pytest.approx(right)
            right = left + group[0].get_width()
    assert [1, 1] in [list(line.get_ydata()) for line in axes.lines]


@pytest.mark.parametrize("head", ["single", "multi"])
def test_cells_of_a_single_head_that_can_only_be_0_are_gray_and_no_result(head):
    """Where heads are told the task, 0 is a result."""
    rows = invented.rows(
        ["er"],
        tasks=3,
        seeds=1,
        head=head,
    )
    to_come = (rows["task_position"] > rows["tasks_seen"]).fillna(False)
    rows["value"] = rows["value"].mask(to_come, 0.0)
    tables = StudyTables(measurements=rows)
    (axes,) = seen.titled(figures.matrix(tables))
    single = head == "single"
    assert (np.asarray(axes.collections[0].get_array()) < 0).sum() == 3 * single
    assert len(axes.texts) == 12 - 3 * single
    caption = papers.caption("matrix", tables)
    bar = figures.matrix(tables, ax=Figure().add_subplot()).figure.axes[-1].get_ylabel()
    for text in (caption, bar):
        assert ("Gray: 0 by construction" in text) == single
    assert ("Single head" in caption, "Multi-head" in caption) == (single, not single)
    assert "means over orders." in caption


def test_accuracies_of_tasks_that_were_not_tested_before_are_measured():
    rows = invented.rows(["er"], tasks=3, seeds=1)
    last = rows[rows["tasks_seen"] == 3]
    tables = StudyTables(measurements=last)
    (axes,) = seen.titled(figures.matrix(tables))
    assert "none if it was not tested then" in papers.caption("matrix", tables)
    is_hatched = np.ma.getmaskarray(axes.collections[0].get_array())
    assert is_hatched.all(axis=1).tolist() == [True] * 3 + [False]
    assert {text.get_color() for text in axes.texts} == {"black"}


SAME = {
    name: dict.fromkeys(("er", "ewc"), 0.5)
    for name in ("ms", "sss", "fwt", "omega_new")
}


def test_what_is_the_same_for_all_learners_is_no_result():
    names = ["er", "ewc"]
    learners = invented.kinds(names)
    tables = StudyTables(metrics=invented.metrics(names, **SAME), learners=learners)
    web = figures.spider(tables).axes[0]
    assert [text.get_text() for text in web.texts[-4:]] == ["A", "CE", "REM", "BWT+"]
    assert "the same for all methods: MS, SSS and FWT" in papers.caption(
        "spider", tables
    )
    two = figures.omegas(tables)
    assert len(seen.legend(two)) == 2
    middles = [bar.get_center()[0] for bar in two.axes[0].patches]
    assert np.mean(middles) == pytest.approx(0.5)  # of two names
    few = invented.metrics(
        names,
        **SAME,
        ce=SAME["ms"],
        rem=SAME["ms"],
    )
    same = invented.metrics(
        names,
        omega_base=SAME["ms"],
        omega_all=SAME["ms"],
        **SAME,
    )
    for name, rows in (("spider", few), ("omegas", same)):
        with pytest.raises(InputError, match=rf"figures\.{name}"):
            getattr(figures, name)(StudyTables(metrics=rows, learners=learners))


def test_a_small_panel_is_shaded_under_its_method():
    assert tuple(diaz_rodriguez.NAMES.values()) == invented.CRITERIA
    _, *small = papers.figure("spider").axes
    for axes in small:
        (shade,) = [patch for patch in axes.patches if patch.get_fill()]
        line = axes.lines[-1]
        assert to_hex(shade.get_facecolor()) == line.get_color().lower()
        assert np.asarray(shade.get_xy())[:7, 1].tolist() == seen.heights(line)[:7]


def test_bounds_are_known_by_their_kind_and_by_storing_nothing():
    """Without any there is the large panel alone."""
    learners = [
        invented.learner("plain", "finetune"),
        invented.learner("joint", "cumulative"),
        invented.learner(
            "with-samples",
            "finetune",
            per_class=10,
            sampling="uniform",
        ),
        invented.learner("mine", "ewc"),
    ]
    for first, lines in ((0, [4, 3, 3]), (1, [3, 2, 2]), (2, [2])):
        metrics = invented.metrics([name for name, *_ in learners[first:]])
        table = new_table("learners", learners)
        figure = figures.spider(StudyTables(metrics=metrics, learners=table))
        assert [len(axes.lines) for axes in figure.axes] == lines


def test_what_forgets_transfers_backward_and_what_learns_less_forward_negatively():
    """Chaudhry 2018, figure 3: forgetting to the right, intransigence upward."""
    for (x, y), name in QUADRANTS.items():
        backward, forward = name.split(", ")
        assert (backward == "NBT") == (x == "right")
        assert (forward == "NFT") == (y == "top")


def test_bars_of_forgetting_lie_and_those_of_intransigence_stand():
    summary = invented.metrics(["er", "ft"], tasks=3, seeds=4)
    axes = figures.tradeoff(StudyTables(metrics=summary)).axes[0]
    by_metric = dict(tuple(summary.groupby("metric")))
    for number, drawn in enumerate(axes.containers):
        for name, is_x in (("forgetting[3]", True), ("intransigence[3]", False)):
            row = by_metric[name].iloc[[number]]
            expected = seen.spread(row.itertuples(), scale=1)
            np.testing.assert_allclose(seen.bars(drawn, x=is_x), expected)
