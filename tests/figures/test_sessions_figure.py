import numpy as np
import pytest

from figures import appearance as looks
from figures.kinds import sessions

LEARNERS = ["fel", "finetune", "ewc"]
METRICS = ["alpha_all", "alpha_base", "alpha_new"]


@pytest.fixture
def table(scored):
    return scored(LEARNERS, tasks=12)


def test_panels_are_all_sessions_the_base_set_and_the_newest(table):
    panels = sessions.draw(table).axes
    titles = [axes.get_title().partition(",")[0] for axes in panels]
    assert titles == ["All sessions so far", "Base set", "Newest session"]
    assert len({axes.get_ylim() for axes in panels}) == 1


def test_lines_are_the_tables_alphas_session_by_session(table):
    another = [row for row in table if row.metric.startswith("average_accuracy")]
    mixed = [*another, *table[::-1]]  # alpha_all[9] is then read after alpha_all[10]
    for axes, metric in zip(sessions.draw(mixed).axes, METRICS, strict=True):
        drawn = {line.get_color(): line for line in axes.lines}
        assert len(drawn) == len(LEARNERS)
        for name, look in looks.of_learners(LEARNERS).items():
            value = {row.metric: row.mean for row in table if row.learner == name}
            line = drawn[look.color]
            assert list(line.get_xdata()) == list(range(1, 13))
            expected = [100 * value[f"{metric}[{i}]"] for i in range(1, 13)]
            assert np.asarray(line.get_ydata(), float) == pytest.approx(expected)
            assert (line.get_marker(), line.get_markerfacecolor()) == (look.marker, look.face)


def test_the_legend_names_the_learners_in_the_tables_order_and_the_axis_the_head(scored):
    figure = sessions.draw(scored(LEARNERS, tasks=3, head="multi"))
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["FEL", "Finetune", "EWC"]
    assert legend.get_title().get_text() == "Mean over 3 seeds"
    assert figure.get_supylabel() == "Accuracy (%), multi-head"


def test_a_single_learner_and_a_single_session_are_not_drawn(scored, table):
    assert sessions.draw(scored(["ewc"])) is None
    assert sessions.draw(scored(LEARNERS, tasks=1)) is None
    assert sessions.draw(scored(LEARNERS, tasks=2)) is not None
    assert sessions.draw([row for row in table if not row.metric.startswith("alpha_")]) is None
