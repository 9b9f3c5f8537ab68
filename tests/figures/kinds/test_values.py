"""Marks of the smaller figures: each is a number of the tables."""

import math

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

import figures
from figures.appearance import learner_appearances
from figures.tables import StudyTables
from probe.errors import InputError
from probe.metrics import diaz_rodriguez
from probe.tables.matrices import mean_matrices
from probe.tables.summary import summarize
from probe.tables.table_file import new_table
from tests.figures import invented, papers, seen

NAMES = [*papers.LEARNERS, *papers.SWEEP]


def test_bias_has_the_f1_of_a_feature_by_position_and_rows_for_each_architecture():
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
    architectures = [["er", "finetune"]] * 3 + [["geppnet"]] * 2
    for axes, names, depth in zip(
        figure.axes,
        architectures,
        [1, 2, 3, 1, 2],
        strict=True,
    ):
        for name, drawn in zip(
            names,
            axes.containers,
            strict=True,
        ):
            rows = invented.rows_by(
                summary,
                "learner",
                "metric",
                "depth",
            )[name, "f1", depth]
            seen.check_means(drawn, rows)
            assert np.round(seen.points(drawn)[:, 0]).tolist() == [1, 2, 3, 4]
            assert drawn.lines[0].get_color() == seen.color(name)


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
        written = np.full((5, 4), math.nan)
        for text in axes.texts:
            column, row = text.get_position()
            written[row, column - 1] = float(text.get_text())
        assert written == pytest.approx(np.round(percent), nan_ok=True)
        assert axes.get_ylim()[0] > axes.get_ylim()[1]
    names = [label.get_text() for label in panels[0].get_yticklabels()]
    assert names == ["before", "1", "2", "3", "4"]


def test_sessions_have_the_alphas_session_by_session():
    learners = ["fel", "finetune", "ewc"]
    # In an order in which alpha_all[10] comes before alpha_all[9].
    table = invented.metrics(learners, tasks=12)[::-1]
    figure = figures.sessions(StudyTables(metrics=table))
    panels = [title.partition(",")[0] for title in seen.titles(figure)]
    assert panels == ["All sessions so far", "Base set", "Newest session"]
    for axes, metric in zip(
        figure.axes,
        ["alpha_all", "alpha_base", "alpha_new"],
        strict=True,
    ):
        drawn = {line.get_color(): line for line in axes.lines}
        for name in learners:
            value = table[table["learner"] == name].set_index("metric")["mean"]
            line = drawn.pop(seen.color(name))
            assert list(line.get_xdata()) == list(range(1, 13))
            expected = [100 * value[f"{metric}[{i}]"] for i in range(1, 13)]
            assert seen.heights(line) == pytest.approx(expected)
        assert not drawn
    for few in (invented.metrics(["ewc"]), invented.metrics(learners, tasks=1)):
        with pytest.raises(InputError, match=r"figures\.sessions"):
            figures.sessions(StudyTables(metrics=few))


def test_omegas_have_bars_learner_by_learner():
    figure = papers.figure("omegas")
    (axes,) = figure.axes
    # In the order of their appearances.
    names = [
        "cumulative",
        "finetune",
        "ewc",
        *sorted(
            [
                *papers.SWEEP,
                "mine",
                "yours",
            ]
        ),
    ]
    assert seen.tick_names(axes)[:3] == ["Cumulative", "Finetune", "EWC"]
    groups = [c for c in axes.containers if isinstance(c, BarContainer)]
    right = None
    for omega, group in zip(
        ("base", "new", "all"),
        groups,
        strict=True,
    ):
        rows = [papers.metric(f"omega_{omega}", name) for name in names]
        assert [bar.get_height() for bar in group] == [row.mean for row in rows]
        left = np.array([bar.get_x() for bar in group])
        width = group[0].get_width()
        assert np.round(left + width / 2).tolist() == list(range(len(names)))
        # Side by side, none over another.
        assert right is None or left == pytest.approx(right)
        right = left + width
    spread = seen.spread(rows, scale=1)
    assert seen.bars(groups[-1].errorbar) == pytest.approx(spread)
    assert [1, 1] in [list(line.get_ydata()) for line in axes.lines]
    shades = [bars[0].get_facecolor() for bars in groups]
    assert [
        patch.get_facecolor() for patch in figure.legends[0].get_patches()
    ] == shades


def test_tradeoff_has_forgetting_against_intransigence_and_lines_at_zero():
    (axes,) = papers.figure("tradeoff").axes
    for name, drawn in zip(
        NAMES,
        axes.containers,
        strict=True,
    ):
        F, I_T = (
            papers.metric(f"{k}[3]", name) for k in ("forgetting", "intransigence")
        )
        assert seen.points(drawn)[0, 0] == pytest.approx(F.mean)
        assert seen.bars(drawn, x=True) == pytest.approx(seen.spread([F], scale=1))
        seen.check_means(
            drawn,
            [I_T],
            scale=1,
        )
        if name in ("finetune", "ewc"):
            assert (
                drawn.lines[0].get_marker() == learner_appearances([name])[name].marker
            )
    level, upright = (line for line in axes.lines if len(line.get_xdata()) == 2)
    assert list(level.get_ydata()) == list(upright.get_xdata()) == [0, 0]


def test_of_a_single_order_f1_is_by_task_and_not_by_position():
    """One order cannot tell whether a task is hard, or was learned early."""
    for orders, names in ((1, ["t1", "t2", "t3"]), (2, ["1", "2", "3"])):
        rows = invented.rows(
            ["er"],
            ["conv1", "output"],
            tasks=3,
            orders=orders,
        )
        learners = invented.kinds(["er"])
        tables = StudyTables(
            measurements=rows,
            summary=summarize(rows),
            learners=learners,
        )
        figure = figures.bias(tables)
        assert [seen.tick_names(axes) for axes in figure.axes] == [names] * 2
        caption = papers.caption("bias", tables)
        assert ("a task and its position cannot be told apart" in caption) == (
            orders == 1
        )


@pytest.mark.parametrize("head", ["single", "multi"])
def test_cells_of_a_single_head_that_can_only_be_0_are_gray_and_no_result(head):
    """Where heads are told the task, 0 is a result."""
    rows = invented.rows(
        ["er"],
        tasks=3,
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
    assert len(seen.legend(figures.omegas(tables))) == 2
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


def criteria(learner):
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
    assert large.get_title() == "All methods"
    for name, line in zip(
        [*papers.LEARNERS, *papers.SWEEP],
        large.lines,
        strict=True,
    ):
        assert criteria(name) == spokes(line)
    assert [axes.get_title() for axes in small] == [
        "mine",
        "yours",
        "EWC",
        *papers.SWEEP,
    ]
    for name, axes in zip(
        ["mine", "yours", "ewc", *papers.SWEEP],
        small,
        strict=True,
    ):
        for learner, line in zip(
            [
                "finetune",
                "cumulative",
                name,
            ],
            axes.lines,
            strict=True,
        ):
            assert criteria(learner) == spokes(line)
        (shade,) = [patch for patch in axes.patches if patch.get_fill()]
        assert to_hex(shade.get_facecolor()) == axes.lines[-1].get_color().lower()
        assert np.asarray(shade.get_xy())[:7, 1].tolist() == criteria(name)


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
