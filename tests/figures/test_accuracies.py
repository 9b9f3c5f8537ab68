import pytest

from figures.accuracies import Accuracies
from probe.tables.summary import mean_accuracies


@pytest.mark.parametrize(("head", "note"), [("single", ""), ("multi", ", multi-head")])
def test_there_is_a_matrix_for_each_learner_but_offline_and_the_label_names_the_head(
    study, head, note
):
    rows = study(["offline", "finetune", "er"], ["output"], tasks=3, head=head)
    accuracies = Accuracies.of(rows)
    assert list(accuracies.matrices) == ["finetune", "er"]
    assert accuracies.label == f"Accuracy (%){note}"
    for name, R in accuracies.matrices.items():
        assert (R.values == mean_accuracies(rows)[name].values).all()


def test_without_a_continual_learner_there_is_no_matrix(study):
    rows = study(["offline", "er"], ["output"], tasks=3)
    assert not Accuracies.of(row for row in rows if row.learner == "offline").matrices
    assert not Accuracies.of(row for row in rows if row.measure != "accuracy").matrices
    assert Accuracies.of(rows).matrices
