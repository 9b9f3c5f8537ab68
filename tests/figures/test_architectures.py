import pytest

from figures.architectures import architectures
from probe.tables.summary import summarize
from tests.figures import invented

FEATURES = ["hidden1", "hidden2", "output"]
OWN = {
    "pathnet": ["layer1", "layer2", "output"],
    "geppnet": ["som", "output"],
    "geppnet_stm": ["som", "output"],
}
LEARNERS = ["pathnet", "ewc", "geppnet", "er", "geppnet_stm", "offline"]
SUMMARY = summarize(invented.rows(LEARNERS, FEATURES, own=OWN))


@pytest.mark.parametrize("missing", [set(), {("er", "hidden1"), ("ewc", "hidden2")}])
def test_learners_share_an_architecture_where_names_and_depths_agree_even_if_some_are_missing(
    missing,
):
    """One learner may lack a feature of the architecture that another has."""
    found = architectures([row for row in SUMMARY if (row.learner, row.feature) not in missing])
    assert [(each.learners, list(each.features.values())) for each in found] == [
        (["pathnet"], OWN["pathnet"]),
        (["ewc", "er"], FEATURES),
        (["geppnet", "geppnet_stm"], OWN["geppnet"]),
    ]
