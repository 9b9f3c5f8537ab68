import pytest

from figures.networks import networks
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


def found(summary):
    return [(each.learners, list(each.features.items())) for each in networks(summary)]


def by_depth(features):
    return list(enumerate(features, start=1))


WHOLE = [
    (["pathnet"], by_depth(OWN["pathnet"])),
    (["ewc", "er"], by_depth(FEATURES)),
    (["geppnet", "geppnet_stm"], by_depth(OWN["geppnet"])),
]


def test_learners_share_a_network_where_names_and_depths_agree():
    assert found(SUMMARY) == WHOLE
    assert [sorted(each.learners) for each in networks(SUMMARY[::-1])] == [
        ["geppnet", "geppnet_stm"],
        ["er", "ewc"],
        ["pathnet"],
    ]


@pytest.mark.parametrize(
    "missing",
    [
        {("er", "hidden1")},
        {("er", "hidden2")},
        {("er", "hidden1"), ("er", "output")},
        {("er", "hidden1"), ("ewc", "hidden2")},
    ],
)
def test_a_learner_of_which_features_are_missing_stays_with_its_network(missing):
    """What two learners lack of one network the other may have."""
    assert found([row for row in SUMMARY if (row.learner, row.feature) not in missing]) == WHOLE


def test_offline_tells_no_network_by_its_output():
    """Its output is deeper here than that of the only learner, which has another network."""
    rows = invented.rows(["geppnet", "offline"], FEATURES, own=OWN)
    assert found(summarize(rows)) == [(["geppnet"], by_depth(OWN["geppnet"]))]
    assert networks(summarize(invented.rows(["offline"], FEATURES))) == []
