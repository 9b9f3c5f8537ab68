import pytest

from figures.kinds import sessions
from figures.tables import Tables
from tests.figures import invented, seen

LEARNERS = ["fel", "finetune", "ewc"]
# In an order in which alpha_all[10] comes before alpha_all[9].
TABLE = invented.metrics(LEARNERS, tasks=12)[::-1]


def test_lines_are_the_tables_alphas_session_by_session():
    figure = sessions.draw(Tables(metrics=TABLE))
    panels = [title.partition(",")[0] for title in seen.titles(figure)]
    assert panels == ["All sessions so far", "Base set", "Newest session"]
    assert seen.note(figure) == "Mean over 3 seeds"
    for axes, metric in zip(figure.axes, ["alpha_all", "alpha_base", "alpha_new"], strict=True):
        drawn = {line.get_color(): line for line in axes.lines}
        assert len(drawn) == len(LEARNERS)
        for name in LEARNERS:
            value = {row.metric: row.mean for row in TABLE if row.learner == name}
            line = drawn[seen.color(name)]
            assert list(line.get_xdata()) == list(range(1, 13))
            expected = [100 * value[f"{metric}[{i}]"] for i in range(1, 13)]
            assert seen.heights(line) == pytest.approx(expected)


def test_a_single_learner_and_a_single_session_are_not_drawn():
    for few in (invented.metrics(["ewc"]), invented.metrics(LEARNERS, tasks=1)):
        assert sessions.draw(Tables(metrics=few)) is None
