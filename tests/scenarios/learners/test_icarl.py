"""iCaRL: its loss by hand, its classifier by a loop, and the hybrid that is the same network."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from probe.examples import join
from probe.modules import mode
from scenarios.learners.distillation import IcarlHybrid1
from tests.scenarios.learners.tiny_learners import digits, learner, same

TASKS = digits(20).tasks


def icarl(kind: str = "icarl", **given: object) -> IcarlHybrid1:
    return learner(kind, "cnn3", exemplars={"per_class": 4}, **given)


def sigmoids(own: IcarlHybrid1, x: Tensor) -> NDArray[np.float64]:
    with torch.no_grad():
        scores: NDArray[np.float64] = own.model(x).double().numpy()
    return 1 / (1 + np.exp(-scores))


def test_the_loss_is_the_one_computed_by_hand() -> None:
    """Earlier outputs learn the old sigmoids, the task's own the labels, later ones nothing."""
    own = icarl()
    own.learn(TASKS[0])
    own.begin(TASKS[1])
    data = own.examples(TASKS[1])
    assert torch.bincount(data.y).tolist() == [4, 4, 20, 20]  # exemplars are joined to the data
    old = sigmoids(own, data.x)
    for p in own.model.parameters():
        p.data *= 1.3
    new, expected = sigmoids(own, data.x), 0.0
    for n, label in enumerate(data.y.tolist()):
        for c in range(4):
            target = old[n, c] if c < 2 else float(label == c)
            expected -= target * np.log(new[n, c]) + (1 - target) * np.log(1 - new[n, c])
    loss = own.loss(own.model, data.x, data.y).item()
    assert loss == pytest.approx(expected / len(data), rel=1e-5)


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
