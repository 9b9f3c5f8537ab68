import pytest

from figures.networks import networks
from probe.tables.summary import summarize

FEATURES = ["hidden1", "hidden2", "output"]
OWN = {
    "pathnet": ["layer1", "layer2", "output"],
    "geppnet": ["som", "output"],
    "geppnet_stm": ["som", "output"],
}


@pytest.fixture
def summary(study):
    return summarize(
        study(["pathnet", "ewc", "geppnet", "er", "geppnet_stm", "offline"], FEATURES, own=OWN)
    )


def found(summary):
    return [(each.learners, list(each.features.items())) for each in networks(summary)]


def by_depth(features):
    return list(enumerate(features, start=1))


WHOLE = [
    (["pathnet"], by_depth(OWN["pathnet"])),
    (["ewc", "er"], by_depth(FEATURES)),
    (["geppnet", "geppnet_stm"], by_depth(OWN["geppnet"])),
]


def test_learners_share_a_network_where_names_and_depths_agree(summary):
    assert found(summary) == WHOLE
    assert [sorted(each.learners) for each in networks(summary[::-1])] == [
        ["geppnet", "geppnet_stm"],
        ["er", "ewc"],
        ["pathnet"],
    ]


@pytest.mark.parametrize("missing", [{"hidden1"}, {"hidden2"}, {"hidden1", "output"}])
def test_a_learner_of_which_features_are_missing_stays_with_its_network(summary, missing):
    rest = [row for row in summary if row.learner != "er" or row.feature not in missing]
    assert found(rest) == WHOLE


def test_what_two_learners_lack_of_one_network_the_other_may_have(summary):
    rest = [
        row
        for row in summary
        if (row.learner, row.feature) not in (("er", "hidden1"), ("ewc", "hidden2"))
    ]
    assert found(rest) == WHOLE


def test_offline_tells_no_network_by_its_output(study):
    """Its output is deeper here than that of the only learner, which has another network."""
    rows = study(["geppnet", "offline"], FEATURES, own=OWN)
    assert found(summarize(rows)) == [(["geppnet"], by_depth(OWN["geppnet"]))]
    assert networks(summarize(study(["offline"], FEATURES))) == []
