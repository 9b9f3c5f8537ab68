"""Marks of the smaller figures: each is a number of the tables."""

import math
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

import figures
from figures.appearance import learner_appearances
from figures.tables import Tables
from probe.errors import InputError
from probe.tables.summary import mean_accuracies, summarize, training_seconds
from tests.figures import invented, papers, seen

NAMES = [*papers.LEARNERS, *papers.SWEEP]


def test_bias_has_the_f1_of_a_feature_by_position_and_rows_for_each_architecture():
    features, trained = ["conv1", "conv2", "output"], "output (as\N{NO-BREAK SPACE}trained)"
    learners, own = ["finetune", "geppnet", "er", "offline"], {"geppnet": ["som", "output"]}
    summary = summarize(invented.rows(learners, features, tasks=4, own=own))
    figure = figures.bias(Tables(summary=summary[::-1]))
    assert seen.titles(figure) == ["conv1", "conv2", trained, "som", trained]
    assert [axes.get_ylabel() for axes in figure.axes] == ["ER, Finetune", "", "", "GeppNet", ""]
    places = [axes.get_subplotspec() for axes in figure.axes]
    assert [task_position.rowspan.start for task_position in places] == [0, 0, 0, 1, 1]
    assert [task_position.colspan.start for task_position in places] == [0, 1, 2, 0, 1]
    architectures = [["er", "finetune"]] * 3 + [["geppnet"]] * 2
    for axes, names, depth in zip(figure.axes, architectures, [1, 2, 3, 1, 2], strict=True):
        for name, drawn in zip(names, axes.containers, strict=True):
            rows = [r for r in summary if (r.learner, r.metric, r.depth) == (name, "f1", depth)]
            assert seen.heights(drawn) == pytest.approx([100 * r.mean for r in rows])
            assert np.round(seen.points(drawn)[:, 0]).tolist() == [1, 2, 3, 4]
            assert seen.bars(drawn) == pytest.approx(seen.spread(rows))
            assert drawn.lines[0].get_color() == seen.color(name)


def test_matrix_has_r_in_percent_and_hatches_what_was_not_measured():
    rows = [
        replace(row, value=math.nan) if (row.tasks_seen, row.task_position) == (2, 1) else row
        for row in invented.rows(["finetune", "er", "gem", "offline"], tasks=4)
    ]
    panels = seen.titled(figures.matrix(Tables(measurements=rows)))
    assert [axes.get_title() for axes in panels] == ["Finetune", "ER", "GEM"]
    for learner, axes in zip(["finetune", "er", "gem"], panels, strict=True):
        percent = 100 * mean_accuracies(rows)[learner].values
        mesh = axes.collections[0]
        found = mesh.get_array().reshape(5, 4)
        assert np.argwhere(np.ma.getmaskarray(found)).tolist() == [[2, 0]]
        assert found.filled(math.nan) == pytest.approx(percent, nan_ok=True)
        assert axes.patch.get_hatch()
        written = np.full((5, 4), math.nan)
        for text in axes.texts:
            column, row = text.get_position()
            written[row, column - 1] = float(text.get_text())
        assert written == pytest.approx(np.round(percent), nan_ok=True)
        assert mesh.get_clim() == (0, 100)
        assert axes.get_ylim()[0] > axes.get_ylim()[1]
    names = [label.get_text() for label in panels[0].get_yticklabels()]
    assert names == ["before", "1", "2", "3", "4"]


def test_curves_are_columns_of_r_split_where_a_task_is_learned_and_black_is_the_average():
    panels = seen.titled(papers.figure("curves"))
    assert [p.get_title() for p in panels] == ["Finetune", "Cumulative", "mine", "yours", "EWC"]
    for learner, axes in zip(papers.LEARNERS, panels, strict=True):
        R = 100 * mean_accuracies(papers.rows())[learner].values
        *others, average = axes.lines
        for j in range(1, 4):
            before, after = (seen.points(line).T for line in others[2 * j - 2 : 2 * j])
            assert before == pytest.approx(np.array([range(j + 1), R[: j + 1, j - 1]]))
            assert after == pytest.approx(np.array([range(j, 4), R[j:, j - 1]]))
        assert average.get_color() == "black"
        expected = [R[1, 0], (R[2, 0] + R[2, 1]) / 2, sum(R[3]) / 3]
        assert pytest.approx(np.array([[1, 2, 3], expected])) == seen.points(average).T


def test_tasks_have_every_learner_from_the_task_on_and_the_last_panel_their_averages():
    figure = papers.figure("tasks")
    assert seen.titles(figure) == ["Task 1", "Task 2", "Task 3", "Average of tasks so far"]
    *panels, last = figure.axes
    for k, name in enumerate(papers.LEARNERS):
        R = 100 * mean_accuracies(papers.rows())[name].values
        for j, axes in enumerate(panels, start=1):
            steps, values = seen.points(axes.lines[k]).T
            assert steps.tolist() == list(range(j, 4))
            assert values == pytest.approx(R[j:, j - 1])
        expected = [R[1, 0], (R[2, 0] + R[2, 1]) / 2, sum(R[3]) / 3]
        assert seen.points(last.lines[k])[:, 1] == pytest.approx(expected)


def test_sessions_have_the_alphas_session_by_session():
    learners = ["fel", "finetune", "ewc"]
    # In an order in which alpha_all[10] comes before alpha_all[9].
    table = invented.metrics(learners, tasks=12)[::-1]
    figure = figures.sessions(Tables(metrics=table))
    panels = [title.partition(",")[0] for title in seen.titles(figure)]
    assert panels == ["All sessions so far", "Base set", "Newest session"]
    assert seen.note(figure) == "Mean over 3 seeds"
    for axes, metric in zip(figure.axes, ["alpha_all", "alpha_base", "alpha_new"], strict=True):
        drawn = {line.get_color(): line for line in axes.lines}
        assert len(drawn) == len(learners)
        for name in learners:
            value = {row.metric: row.mean for row in table if row.learner == name}
            line = drawn[seen.color(name)]
            assert list(line.get_xdata()) == list(range(1, 13))
            expected = [100 * value[f"{metric}[{i}]"] for i in range(1, 13)]
            assert seen.heights(line) == pytest.approx(expected)
    for few in (invented.metrics(["ewc"]), invented.metrics(learners, tasks=1)):
        with pytest.raises(InputError, match="two learners and two sessions"):
            figures.sessions(Tables(metrics=few))


def test_omegas_have_bars_learner_by_learner():
    figure = papers.figure("omegas")
    (axes,) = figure.axes
    # In the order of their appearances.
    names = ["cumulative", "finetune", "ewc", *sorted([*papers.SWEEP, "mine", "yours"])]
    assert seen.tick_names(axes)[:3] == ["Cumulative", "Finetune", "EWC"]
    groups = [c for c in axes.containers if isinstance(c, BarContainer)]
    boxes = [[(b.get_x(), b.get_width(), b.get_height()) for b in bars] for bars in groups]
    left, width, height = np.moveaxis(boxes, -1, 0)
    rows = [[papers.metric(f"omega_{of}", name) for name in names] for of in ("base", "new", "all")]
    assert height.tolist() == [[row.mean for row in each] for each in rows]
    assert np.round(left + width / 2).tolist() == [list(range(len(names)))] * 3
    assert np.diff(left, axis=0) == pytest.approx(width[1:])  # side by side, none over another
    assert seen.bars(axes.containers[-1]) == pytest.approx(seen.spread(rows[-1], scale=1))
    assert [1, 1] in [list(line.get_ydata()) for line in axes.lines]
    shades = [bars[0].get_facecolor() for bars in groups]
    assert [patch.get_facecolor() for patch in figure.legends[0].get_patches()] == shades
    signs = [rf"$\Omega_{{\mathrm{{{name}}}}}$" for name in ("base", "new", "all")]
    signs[1] += " (accuracy)"  # the others are shares of that of Offline
    assert seen.legend(figure) == signs


def test_costs_are_omega_all_against_megabytes_and_seconds():
    figure = papers.figure("costs")
    assert [axes.get_xlabel() for axes in figure.axes] == ["Model size (MB)", "Training time (s)"]
    sizes = {name: papers.metric("model_size_mb", name).mean for name in NAMES}
    seconds = training_seconds(papers.tables().times)
    for axes, spent in zip(figure.axes, (sizes, seconds), strict=True):
        most, least = max(spent[name] for name in NAMES), min(spent[name] for name in NAMES)
        assert axes.get_xscale() == ("log" if most > 4 * least else "linear")
        for name, drawn in zip(NAMES, axes.containers, strict=True):
            row = papers.metric("omega_all", name)
            assert seen.points(drawn)[0] == pytest.approx([spent[name], row.mean])
            assert seen.bars(drawn) == pytest.approx(seen.spread([row], scale=1))


def test_tradeoff_has_forgetting_against_intransigence_and_lines_at_zero():
    figure = papers.figure("tradeoff")
    assert figure.get_supxlabel().startswith("Forgetting $F_{3}$")
    assert figure.get_supylabel().startswith("Intransigence $I_{3}$")
    (axes,) = figure.axes
    for name, drawn in zip(NAMES, axes.containers, strict=True):
        F, I_T = (papers.metric(f"{each}[3]", name) for each in ("forgetting", "intransigence"))
        assert seen.points(drawn)[0] == pytest.approx([F.mean, I_T.mean])
        assert seen.bars(drawn, x=True) == pytest.approx(seen.spread([F], scale=1))
        assert seen.bars(drawn) == pytest.approx(seen.spread([I_T], scale=1))
        if name in ("finetune", "ewc"):
            assert drawn.lines[0].get_marker() == learner_appearances([name])[name].marker
    level, upright = (line for line in axes.lines if len(line.get_xdata()) == 2)
    assert list(level.get_ydata()) == list(upright.get_xdata()) == [0, 0]


def test_scores_are_groups_on_the_whole_axis_and_their_stability_is_a_sentence():
    figure, weightings = papers.figure("scores"), ["W1", "mine[1]"]
    assert seen.note(figure) == "Mean ± standard deviation over 2 seeds"
    (axes,) = figure.axes
    assert seen.tick_names(axes) == weightings
    assert axes.get_ylim()[0] <= 0 < 1 <= axes.get_ylim()[1]
    for name, drawn in zip(NAMES, axes.containers, strict=True):
        rows = [papers.metric(f"cl_score[{each}]", name) for each in weightings]
        assert np.round(seen.points(drawn)[:, 0]).tolist() == [0, 1]
        assert seen.heights(drawn) == pytest.approx([row.mean for row in rows])
        assert seen.bars(drawn) == pytest.approx(seen.spread(rows, scale=1))
    said = papers.caption("scores", papers.tables())
    found = [r.mean for r in papers.tables().metrics if r.metric.startswith("cl_stability")]
    assert f"lies between {min(found):.3f} and {max(found):.3f}" in said
    assert "Weights W1: all 0.14" in said
    assert "Weights W2" not in said


def test_of_a_single_order_f1_is_by_task_and_not_by_position():
    """One order cannot tell whether a task is hard, or was learned early."""
    for orders, named in ((1, ["t1", "t2", "t3"]), (2, ["1", "2", "3"])):
        rows = invented.rows(["er"], ["conv1", "output"], tasks=3, orders=orders)
        tables = Tables(
            measurements=rows, summary=summarize(rows), learners=[invented.learner("er")]
        )
        figure = figures.bias(tables)
        assert [seen.tick_names(axes) for axes in figure.axes] == [named] * 2
        assert (figure.get_supxlabel() == "Task position") == (orders == 2)
        said = papers.caption("bias", tables)
        assert ("a task and its position cannot be told apart" in said) == (orders == 1)
        assert "false positives" in said


GRAY = "Gray: 0 by construction"


def test_cells_of_a_single_head_that_can_only_be_0_are_grey_and_no_result():
    """Nor are they lines of `curves`; where heads are told the task, 0 is a result."""
    for head in ("single", "multi"):
        rows = invented.rows(["er"], tasks=3, head=head)
        rows = [
            replace(r, value=0.0)
            if r.task_position and r.task_position > (r.tasks_seen or 9)
            else r
            for r in rows
        ]
        (axes,) = seen.titled(figures.matrix(Tables(measurements=rows)))
        found = np.asarray(axes.collections[0].get_array()).reshape(4, 3)
        single = head == "single"
        assert (found < 0).sum() == len([1 for k in (1, 2, 3) for j in (1, 2, 3) if j > k]) * single
        assert len(axes.texts) == 12 - 3 * single
        given = figures.matrix(Tables(measurements=rows), ax=Figure().add_subplot())
        assert given.figure.axes[-1].get_ylabel().split("\n")[1:] == [GRAY] * single
        said = papers.caption("matrix", Tables(measurements=rows))
        assert (GRAY in said) == single
        assert "standard deviation over seeds is" in said
        assert ("Single head" in said, "Multi-head" in said) == (single, not single)
        before = figures.curves(Tables(measurements=rows)).axes[0].lines[2].get_ydata()
        assert np.isnan(before[1:2]).all() == single


ALIKE = {name: dict.fromkeys(("er", "ewc"), 0.5) for name in ("ms", "sss", "fwt", "omega_new")}


def test_what_is_the_same_for_all_learners_is_no_result():
    metrics = invented.metrics(
        ["er", "ewc"], model_size_mb=dict.fromkeys(("er", "ewc"), 2), **ALIKE
    )
    learners = [invented.learner(name) for name in ("er", "ewc")]
    tables = Tables(metrics=metrics, learners=learners, times=invented.times(["er", "ewc"]))
    web = figures.spider(tables).axes[0]
    assert [text.get_text() for text in web.texts[-4:]] == ["A", "CE", "REM", "BWT+"]
    assert "the same for all learners: MS, SSS and FWT" in papers.caption("spider", tables)
    assert len(seen.legend(figures.omegas(tables))) == 2
    (axes,) = figures.costs(tables).axes
    assert axes.get_xlabel() == "Training time (s)"
    # Two learners are no reason for a logarithmic scale.
    assert (axes.get_xscale(), axes.get_xlim()[0]) == ("linear", 0)
    few = invented.metrics(["er", "ewc"], **ALIKE, ce=ALIKE["ms"], rem=ALIKE["ms"])
    same = invented.metrics(
        ["er", "ewc"], **{f"omega_{k}": ALIKE["ms"] for k in ("base", "new", "all")}
    )
    for name, found in (("spider", few), ("omegas", same)):
        with pytest.raises(InputError, match="two learners"):
            getattr(figures, name)(Tables(metrics=found, learners=learners))
