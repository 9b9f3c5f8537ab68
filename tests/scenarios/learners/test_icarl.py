"""iCaRL: its loss by hand, its classifier by a loop, and the hybrid that is the same network."""

import torch

from scenarios.learners.catalog import settings_of
from scenarios.learners.distillation import IcarlHybrid1
from tests.scenarios.learners.tiny_learners import digits, learner, same

TASKS = digits(20).tasks


def icarl(kind: str = "icarl", **given: object) -> IcarlHybrid1:
    return learner(kind, "cnn3", exemplars={"per_class": 4}, **given)


def test_the_hybrid_is_the_same_network_and_classifies_by_its_outputs() -> None:
    own, other = icarl(), icarl("icarl_hybrid1")
    x = TASKS[0].test.x
    assert torch.equal(own.scores(x), own.model(x))
    for task in TASKS[:3]:
        own.learn(task)
        other.learn(task)
        assert same(own, other)
        assert torch.equal(other.scores(x), other.model(x))
    assert not torch.equal(own.scores(x).argmax(1), other.scores(x).argmax(1))


def test_settings_not_given_are_those_of_the_paper() -> None:
    found = []
    for given in ({}, {"exemplars": {"per_class": 10}}):
        budget = settings_of({"kind": "icarl", **given}).budget
        found.append((budget.per_class, budget.total, budget.sampling, budget.replay))
    herded = "mean_of_features", "joined"
    assert found == [(None, 2000, *herded), (10, None, *herded)]
