from dataclasses import replace

import numpy as np
import pytest

from figures import build, heads
from probe.tables.summary import mean_accuracies, summarize


@pytest.fixture
def rows(study):
    return study(["finetune", "er"], ["output"], tasks=2, orders=1, head="multi")


def other_head(rows, head):
    return [replace(row, head=head, value=1 - row.value) for row in rows if row.head]


def test_the_main_head_is_the_first_that_occurs(rows):
    no_head = [row for row in rows if not row.head]
    assert no_head
    assert heads.main_head(rows) == "multi"
    assert heads.main_head([*no_head, *other_head(rows, "single"), *rows]) == "single"
    assert heads.main_head(no_head) == ""


def test_rows_of_another_head_go_and_those_without_a_head_stay(rows):
    mixed = [*rows, *other_head(rows, "single")]
    assert heads.of_head(mixed, "multi") == rows
    kept = heads.of_head(mixed, "single")
    assert [row for row in kept if row.head] == other_head(rows, "single")
    assert {row.measure for row in kept if not row.head} == {"pra", "f1"}


def drawn(rows):
    """What the matrix shows of each learner, and the last of the averages over tasks so far."""
    figures = build.draw(rows, [], [], [])
    *matrices, _ = figures["matrix"].axes
    meshes = [np.asarray(axes.collections[0].get_array()) for axes in matrices]
    ends = [line.get_ydata()[-1] for line in figures["tasks"].axes[-1].lines]
    return [*np.concatenate(meshes).ravel(), *ends]


def shown(rows):
    """What `drawn` has to be, from rows of one head."""
    matrices = [100 * mean_accuracies(rows)[name].values for name in ("finetune", "er")]
    return pytest.approx([*np.concatenate(matrices).ravel(), *(R[-1].mean() for R in matrices)])


def test_the_head_that_comes_first_is_drawn_and_no_other(rows):
    single = other_head(rows, "single")
    assert drawn([*rows, *single]) == shown(rows)
    assert drawn([*single, *rows]) == shown(single) != drawn(rows)
    # What a mean over both heads would show.
    assert np.allclose(mean_accuracies([*rows, *single])["er"].values, 0.5)


def test_metrics_are_those_of_the_rows_head_or_of_their_own_first(rows, scored):
    multi = [
        row for row in scored(["finetune", "er"], tasks=2, head="multi") if "[2]" in row.metric
    ]
    single = [replace(row, head="single", mean=1 - row.mean) for row in multi]

    def places(rows, metrics):
        (axes,) = build.draw(rows, [], metrics, [])["tradeoff"].axes
        return [drawn.lines[0].get_xydata().tolist() for drawn in axes.containers]

    assert places([], [*multi, *single]) == places([], multi)
    assert places([], [*single, *multi]) == places([], single) != places([], multi)
    assert places(rows[:1], [*single, *multi]) == places([], multi)


@pytest.mark.parametrize(
    ("head", "note"), [("single", ""), ("multi", ", multi-head"), ("all", ", over all outputs")]
)
def test_what_depends_on_the_head_names_it_unless_it_is_the_usual_one(head, note, study, scored):
    rows = study(["finetune", "er"], ["conv1", "output"], tasks=2, orders=1, head=head)
    figures = build.draw(rows, summarize(rows), scored(["finetune"], tasks=2, head=head), [])
    assert figures["curves"].get_supylabel() == f"Accuracy (%){note}"
    assert figures["tasks"].get_supylabel() == f"Accuracy (%){note}"
    assert figures["matrix"].axes[-1].get_xlabel() == f"Accuracy (%){note}"
    for name in ("tradeoff", "spider", "scores"):
        assert figures[name].legends[0].get_title().get_text().endswith(f"3 seeds{note}")
    assert "head" not in figures["depth"].legends[0].get_title().get_text()
