"""iCaRL: its loss by hand, its classifier by a loop, and the hybrid that is the same network."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from pydantic import ValidationError
from torch import Tensor

from probe.errors import InputError
from probe.examples import join
from probe.modules import mode
from scenarios.learners.catalog import settings_of
from scenarios.learners.distillation.icarl import IcarlHybrid1
from tests.scenarios.learners.tiny_learners import digits, learner, same, seeded

TASKS = digits(20).tasks


def icarl(kind: str = "icarl", **given: object) -> IcarlHybrid1:
    return learner(kind, "cnn3", exemplars={"per_class": 4}, **given)


def sigmoid(z: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-z))


def scored(own: IcarlHybrid1, x: Tensor) -> NDArray[np.float64]:
    with torch.no_grad():
        scores: NDArray[np.float64] = own.model(x).double().numpy()
        return scores


def in_second_task(own: IcarlHybrid1) -> tuple[Tensor, Tensor, NDArray[np.float64]]:
    """Learn a task, begin another, move the weights; return all its data and their old scores."""
    first, second = TASKS[:2]
    own.learn(first)
    own.begin(second)
    data = own.examples(second)
    old = scored(own, data.x)
    for p in own.model.parameters():
        p.data *= 1.3
    return data.x, data.y, old


def test_the_loss_is_the_one_computed_by_hand() -> None:
    """Earlier outputs learn the old sigmoids, the task's own the labels, later ones nothing."""
    own = icarl()
    x, y, old = in_second_task(own)
    assert torch.bincount(y).tolist() == [4, 4, 20, 20]  # the exemplars are joined to the data
    new = sigmoid(scored(own, x))
    expected = 0.0
    for n, label in enumerate(y.tolist()):
        for c in range(4):
            target = sigmoid(old[n, c]) if c < 2 else float(label == c)
            expected -= target * np.log(new[n, c]) + (1 - target) * np.log(1 - new[n, c])
    assert own.loss(own.model, x, y).item() == pytest.approx(expected / len(y), rel=1e-5)


def test_the_hybrid_is_the_same_network_and_classifies_by_its_outputs() -> None:
    own, other = icarl(), icarl("icarl_hybrid1")
    x = TASKS[0].test.x
    assert torch.equal(own.scores(x), own.model(x))
    for task in TASKS:
        own.learn(task)
        other.learn(task)
        assert same(own, other)
        assert torch.equal(other.scores(x), other.model(x))
    assert not torch.equal(own.scores(x).argmax(1), other.scores(x).argmax(1))


def test_the_nearest_mean_of_exemplars_wins() -> None:
    """Features by the network's stages, means and distances by a loop, after every task."""
    own = icarl()
    test = join([task.test for task in TASKS])
    for task in TASKS[:3]:
        own.learn(task)
        with mode(own.model, training=False), torch.no_grad():
            got = own.scores(test.x[:40])
            stages = [m for name, m in own.model.named_children() if name != "output"]
            body = torch.nn.Sequential(*stages, torch.nn.Flatten())
            phi = [p / np.linalg.norm(p) for p in body(test.x[:40]).double().numpy()]
            kept = [p / np.linalg.norm(p) for p in body(own.stored.x).double().numpy()]
        labels, expected = own.stored.y.numpy(), np.full((40, 10), -np.inf)
        for label in own.seen:
            mean = np.mean(np.array(kept)[labels == label], axis=0)
            distances = phi - mean / np.linalg.norm(mean)
            expected[:, label] = -np.linalg.norm(distances, axis=1)
        np.testing.assert_allclose(got.numpy(), expected, atol=1e-5)


@pytest.mark.parametrize("kind", ["icarl", "icarl_hybrid1"])
def test_settings_not_given_are_those_of_the_paper(kind: str) -> None:
    found = []
    for given in ({"total": 2000}, {"per_class": 10}, {"total": 50, "sampling": "uniform"}):
        budget = settings_of({"kind": kind, "exemplars": given}).budget
        found.append((budget.per_class, budget.total, budget.sampling, budget.replay))
    herded = "mean_of_features", "joined"
    assert found == [(None, 2000, *herded), (10, None, *herded), (None, 50, "uniform", "joined")]
    assert settings_of({"kind": kind}) == settings_of({"kind": kind, "exemplars": {"total": 2000}})
    with pytest.raises(ValidationError):
        settings_of({"kind": kind, "competing": "all"})


class NoFeatures(torch.nn.Module):
    """Its output is no layer's own, but the sum of two."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = torch.nn.ModuleList([torch.nn.Linear(64, 10) for _ in range(2)])

    def forward(self, x: Tensor) -> Tensor:
        return sum(part(x.flatten(1)) for part in self.parts)


def test_a_network_without_features_is_refused_in_a_sentence() -> None:
    own = icarl(model=seeded(NoFeatures))
    with pytest.raises(InputError, match="no features before it"):
        own.learn(TASKS[0])
