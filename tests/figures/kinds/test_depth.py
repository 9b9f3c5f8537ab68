import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PolyCollection

import figures
from figures.tables import StudyTables, architectures
from probe.tables.summary import summarize
from tests.figures import invented, papers, seen

FEATURES = ["conv1", "conv2", "output"]
OWN = {"pathnet": ["layer1", "layer2", "layer3", "output"], "fel": ["hidden", "output"]}


LEARNERS = ["finetune", "pathnet", "ewc", "fel", "offline"]
SUMMARY = summarize(
    invented.rows(
        LEARNERS,
        FEATURES,
        seeds=3,
        own=OWN,
    )
)


def pra(learner, summary=SUMMARY):
    return list(summary.query("learner == @learner and metric == 'pra'").itertuples())


def test_each_architecture_has_a_panel_and_without_layers_a_band_of_joint():
    shallow = SUMMARY[SUMMARY["learner"] == "offline"].assign(depth=1, mean=0.3)
    summary = pd.concat([SUMMARY, shallow])
    figure = figures.depth(StudyTables(summary=summary))
    assert seen.titles(figure) == ["Finetune, EWC", "PathNet", "FEL"]
    assert [seen.tick_names(axes) for axes in figure.axes] == [FEATURES, *OWN.values()]
    assert figure.axes[1].get_xticks().tolist() == [1, 2, 3, 4]
    left, right = (seen.points(each)[:, 0] for each in figure.axes[0].containers)
    assert right - left == pytest.approx(np.full(3, 0.08))
    assert (left + right) / 2 == pytest.approx(np.array([1, 2, 3]))
    (row,) = pra("offline")
    for axes in figure.axes:
        (line,) = [line for line in axes.lines if line.get_label() == "Joint"]
        assert list(line.get_ydata()) == pytest.approx([100 * row.mean] * 2)
        (band,) = axes.patches
        ends = [band.get_y(), band.get_y() + band.get_height()]
        assert ends == pytest.approx(seen.spread([row])[0])
    assert seen.legend(figure) == ["Finetune", "PathNet", "EWC", "FEL", "Joint"]


@pytest.mark.parametrize(
    "missing", [[("er", "")], [("finetune", "conv1"), ("ewc", "conv2")]]
)
def test_learners_share_an_architecture_where_features_agree_even_if_some_are_missing(
    missing,
):
    """One learner may lack a feature of the architecture that another has."""
    lacking = SUMMARY.set_index(["learner", "feature"]).index.isin(missing)
    found = architectures(SUMMARY[~lacking])
    assert [(learners, list(features.values())) for features, learners in found] == [
        (["finetune", "ewc"], FEATURES),
        (["pathnet"], OWN["pathnet"]),
        (["fel"], OWN["fel"]),
    ]


def test_with_layers_a_band_is_the_room():
    figure = papers.figure("depth")
    (axes,) = figure.axes
    (band,) = (c for c in axes.collections if isinstance(c, PolyCollection))
    edges = {tuple(corner) for corner in band.get_paths()[0].vertices.round(6).tolist()}
    rows = papers.tables().layers.query(
        "readout == 'retrain' and quantity in ['floor', 'ceiling'] and task_position.isna()"
    )
    corners = zip(rows["depth"], (100 * rows["value"]).round(6), strict=True)
    assert edges >= set(corners)
    drawn = {line.get_label(): seen.points(line) for line in axes.lines}
    assert drawn["Chance"][:, 1] == pytest.approx([10, 10])
    # The ceiling at the output replaces Offline's line.
    controls = ["Joint", "Untrained", "Chance"]
    assert sorted(seen.legend(figure)[5:]) == sorted(controls)
    note = " ".join(seen.note(figure).split("\n"))
    assert note.endswith("95 % interval (of test examples)")
    said = papers.caption("depth", papers.tables())
    for word in ("95 % interval", "Joint (dashed)", "Band:", "Chance:"):
        assert word in said


@pytest.mark.parametrize("lost", ["table", "learner", "intervals", "readout"])
def test_where_an_interval_lacks_all_bars_are_of_the_seeds_alone(lost):
    whole = papers.tables()
    layers = {
        "table": whole.layers[:0],
        "learner": whole.layers.query("learner == 'ewc'"),
        "intervals": whole.layers.assign(low=math.nan, high=math.nan),
        "readout": whole.layers.query("readout == 'linear'"),
    }[lost]
    tables = replace(whole, layers=layers)
    figure = figures.depth(tables)
    (axes,) = figure.axes
    for learner, drawn in zip(
        papers.LEARNERS,
        axes.containers,
        strict=True,
    ):
        assert seen.bars(drawn) == pytest.approx(
            seen.spread(pra(learner, whole.summary))
        )
    said = papers.caption("depth", tables)
    assert "Mean and 95 % interval over" in said
    assert "Joint (dashed): a network trained on all tasks" in said
    assert "test set" not in said
