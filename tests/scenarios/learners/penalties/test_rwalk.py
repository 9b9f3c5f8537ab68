"""RWalk: its score is SI's for the Euclidean distance; normalizing and averaging by hand."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from probe.examples import Examples
from probe.training.loop import Recipe
from scenarios.learners.base import Learner
from scenarios.learners.penalties.rwalk import RWalk, RWalkSettings, normalized
from probe.tasks import Task
from tests.scenarios.learners.tiny_learners import chain, points
from tests.scenarios.learners.tiny_learners import learner as tiny_learner

AS_SI = {"distance": "euclidean", "interval": 10**9, "epsilon": 1e-3}


def task(index: int) -> Task:
    return points(index, dtype=torch.float32)


def learner(kind: str = "rwalk", **settings: object) -> Learner:
    model = chain(lambda: nn.Linear(6, 8), nn.ReLU, lambda: nn.Linear(8, 6))
    return tiny_learner(kind, recipe=Recipe(epochs=3, batch_size=8), model=model, **settings)


@pytest.mark.parametrize("exemplars", [None, {"per_class": 2}])
def test_by_the_euclidean_distance_over_a_whole_task_the_score_is_that_of_si(
    exemplars: dict[str, int] | None,
) -> None:
    """Bit for bit, and after a second task the mean of the two. Both learners without a pull."""
    walk = learner(**AS_SI, strength=0.0, exemplars=exemplars)
    si = learner("si", damping=1e-3, strength=0.0, exemplars=exemplars)
    omegas: list[dict[str, Tensor]] = []
    for index in range(2):
        walk.learn(task(index))
        si.learn(task(index))
        omegas.append(dict(si.penalty.importance))
        first = omegas[0]
        for n, score in walk.score.items():
            if index == 0:
                assert torch.equal(score, first[n])
            else:
                second = omegas[1][n] - first[n]
                torch.testing.assert_close(score, (first[n] + second) / 2)


@pytest.mark.parametrize("changes", [{"distance": "fisher"}, {"interval": 2}, {"epsilon": 1e-2}])
def test_otherwise_it_is_not(changes: dict[str, object]) -> None:
    """The negative control of the test above."""
    si, walk = learner("si", strength=0.0), learner(strength=0.0, **(AS_SI | changes))
    for own in (si, walk):
        own.learn(task(0))
    assert not torch.allclose(walk.score["2.weight"], si.penalty.importance["2.weight"], rtol=0.05)


def test_the_score_by_hand() -> None:
    """Two intervals, of two steps and of one, on one parameter with alpha = 1 and B = 1.

    theta 0 -> 1 -> 3 -> 2; gradients -4, -1, 2; drops 4, 2, 2. At the end of the first interval
    F = 1, the distance 1/2 * 1 * 3^2; of the second F = 4, the distance 1/2 * 4 * 1^2.
    """
    model = nn.Linear(1, 1, bias=False)
    model.weight.data.zero_()
    chosen = RWalkSettings(interval=2, alpha=1.0, epsilon=0.5)
    own = RWalk(model, Recipe(), chosen, 0)
    data = Examples(torch.zeros(1, 1), torch.zeros(1, dtype=torch.int64))
    single = Task(index=1, name="", classes=(0,), train=data, test=data)
    own.begin(single)
    for gradient, after in ((-4.0, 1.0), (-1.0, 3.0), (2.0, 2.0)):
        own.loss(model, data.x, data.y)
        model.weight.grad = torch.full((1, 1), gradient)
        own.after_backward(model)
        model.weight.data.fill_(after)
        own.after_step(model)
    own.end(single)
    assert float(own.score["weight"]) == pytest.approx(6 / (4.5 + 0.5) + 2 / (2 + 0.5))
    assert float(own.fisher["weight"]) == 4


def test_a_score_is_cut_at_zero_as_a_whole_and_averaged_with_the_one_before() -> None:
    """Two parameters whose intervals bring 5 and -3, and 1 and -3, score 2 and 0; then 1 and 7."""
    data = Examples(torch.zeros(1, 2), torch.zeros(1, dtype=torch.int64))
    single = Task(index=1, name="", classes=(0,), train=data, test=data)
    own = RWalk(nn.Linear(2, 1, bias=False), Recipe(), RWalkSettings(), 0)
    for brought, score, unit in (
        ([5.0 - 3.0, 1.0 - 3.0], [2.0, 0.0], [1.0, 0.0]),
        ([1.0, 7.0], [1.5, 3.5], [0.0, 1.0]),
    ):
        own.begin(single)
        own._new["weight"] += torch.tensor([brought])
        own.end(single)
        assert own.score["weight"].tolist() == [score]
        assert own.penalty.importance["weight"].tolist() == [unit]


def test_each_is_normalized_over_the_whole_network() -> None:
    numbers = {"weight": torch.tensor([[2.0, 4.0], [3.0, 2.0]]), "bias": torch.tensor([10.0, 6.0])}
    unit = normalized(numbers)
    assert unit["weight"].tolist() == [[0.0, 0.25], [0.125, 0.0]]
    assert unit["bias"].tolist() == [1.0, 0.5]
    constant = normalized({"weight": torch.full((2, 2), 3.0)})
    assert constant["weight"].tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_the_penalty_weighs_both_equally_and_carries_them_raw() -> None:
    own = learner(strength=5.0)
    for index in range(2):
        own.learn(task(index))
    carried, penalty = own.carried(), own.penalty
    names = list(penalty.importance)
    raw = {
        kind: torch.cat([carried[f"{kind}.{n}"].flatten() for n in names])
        for kind in ("fisher", "score")
    }
    held = torch.cat([penalty.importance[n].flatten() for n in names])
    units = [(v - v.min()) / (v.max() - v.min()) for v in raw.values()]
    torch.testing.assert_close(held, units[0] + units[1])
    assert all(float(v.max()) != 1 for v in raw.values())
    assert 1 <= float(held.max()) <= 2
    assert any(n.startswith("2.") for n in names)  # the head
