"""PathNet: it forgets nothing, searches legal paths, and works when all is frozen."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from probe.errors import InputError
from probe.examples import Examples
from probe.seeding import stream
from probe.training.costs import OpsMeter
from probe.training.fresh_weights import initialize
from probe.training.loop import Recipe
from scenarios.learners.kemker.path_network import LiftedPath
from scenarios.learners.kemker.pathnet import PathNet, PathNetSettings
from scenarios.streams.task import Scenario, Task
from tests.scenarios.learners.tiny_learners import digits, learn

SMALL = PathNetSettings(
    modules=6, active=3, width=8, population=6, generations=3, batches=4, training=None
)
RECIPE = Recipe(epochs=3, batch_size=16, learning_rate=5e-3, init="torch")
SCENARIO = PathNet.view(digits(30))
TASKS = SCENARIO.tasks


def learner(
    settings: PathNetSettings = SMALL, of: type[PathNet] = PathNet, recipe: Recipe = RECIPE
) -> PathNet:
    model = PathNet.network(settings, (65,), 10, 5)
    initialize(model, recipe.init, stream(0, "init"))
    return of(model, recipe, settings, 0)


def accuracy(own: PathNet, task: Task) -> float:
    with torch.no_grad():
        return float((own.logits(task.test.x, task).argmax(1) == task.test.y).float().mean())


def kept(own: PathNet) -> dict[str, Tensor]:
    """What is frozen: modules of learned paths, and the outputs of learned tasks."""
    found = {}
    for at, layer in enumerate(own.model.layers):
        for module in layer.frozen.nonzero().flatten().tolist():
            rows = layer.rows([module])
            for name, part in layer.dense.named_parameters():
                found[f"layer{at + 1}.{module}.{name}"] = part.detach()[rows]
    _, outputs = own.model.output.tasks_classes
    for task in own.model.learned.nonzero().flatten().tolist():
        for name, part in own.model.output.dense.named_parameters():
            found[f"output.{task}.{name}"] = part.detach()[task * outputs : (task + 1) * outputs]
    return {name: part.clone() for name, part in found.items()}


class Noting(PathNet):
    """Notes every path that is trained, and on how much."""

    def begin(self, task: Task) -> None:
        super().begin(task)
        self.paths: list[tuple[Tensor, int]] = []

    def _train_path(
        self, path: Tensor, task: Task, data: Examples, recipe: Recipe, *rest: object
    ) -> float:
        self.paths.append((path, len(data) * recipe.epochs))
        return super()._train_path(path, task, data, recipe, *rest)


def test_the_view_appends_each_tasks_index() -> None:
    plain = digits(30).reordered([3, 0, 1, 2, 4])
    seen = PathNet.view(plain)
    for task, old in zip(seen.tasks, plain.tasks, strict=True):
        for half in ("train", "test"):
            x = getattr(task, half).x
            assert torch.equal(x[:, :-1], getattr(old, half).x.flatten(1))
            assert x[:, -1].unique().tolist() == [old.index]
    assert [task.index for task in seen.tasks] == [4, 1, 2, 3, 5]
    assert seen.merged.train.x[:, -1].unique().tolist() == [1, 2, 3, 4, 5]


def scores_of_first_two(own: PathNet) -> list[Tensor]:
    with torch.no_grad():
        return [own.scores(task.test.x) for task in TASKS[:2]]


def test_it_forgets_nothing_at_all() -> None:
    """Scores of learned tasks and all that is frozen stay the same, bit for bit."""
    own = learner()
    learn(own, TASKS[:2])
    before, scores = kept(own), scores_of_first_two(own)
    for task in TASKS[2:4]:
        own.learn(task)
        assert all(map(torch.equal, scores_of_first_two(own), scores))
        now = kept(own)
        assert all(torch.equal(now[name], part) for name, part in before.items())


def test_in_another_order_each_task_keeps_its_own_place() -> None:
    """Gates, the learned flag and scores go by the task's index, not by when it was learned."""
    own, best = learner(of=Noting), {}
    scores: dict[int, Tensor] = {}
    for task in SCENARIO.reordered([2, 3, 4, 0, 1]).tasks:
        own.learn(task)
        best[task.index] = own.paths[-1][0]
        with torch.no_grad():
            scores[task.index] = own.scores(task.test.x)
        learned = own.model.learned.nonzero().flatten() + 1
        assert set(learned.tolist()) == best.keys()
        for index, path in best.items():
            for layer, modules in zip(own.model.layers, path.tolist(), strict=True):
                on_it = layer.gates[index - 1].nonzero().flatten().tolist()
                assert on_it == sorted(set(modules))
    assert list(best) == [3, 4, 5, 1, 2]
    assert len({tuple(path.flatten().tolist()) for path in best.values()}) == 5
    for task in TASKS:
        lifted = LiftedPath(own.model, best[task.index], task.index - 1, task.classes)
        with torch.no_grad():
            assert torch.equal(own.scores(task.test.x), scores[task.index])
            torch.testing.assert_close(lifted(task.test.x), scores[task.index][:, task.classes])


def test_only_legal_paths_are_trained_on_the_stated_batches() -> None:
    own = learner(of=Noting)
    for task in TASKS[:2]:
        own.learn(task)
        *tried, (best, visits) = own.paths
        assert [count for _, count in tried] == [4 * 16] * 6
        assert visits == 3 * len(task.train)
        for path, _ in own.paths:
            assert path.shape == (2, 3)
            assert 0 <= int(path.min()) <= int(path.max()) < 6
        for layer, modules in zip(own.model.layers, best.tolist(), strict=True):
            assert layer.gates[task.index - 1].nonzero().flatten().tolist() == sorted(set(modules))
            assert layer.frozen[modules].all()


def test_fitness_is_the_accuracy_on_the_batches_before_each_step() -> None:
    """With steps too small to matter it is that of the network as it stands."""
    own = learner(recipe=replace(RECIPE, learning_rate=1e-12, epochs=2))
    path, task = torch.tensor([[0, 1, 2], [3, 4, 5]]), TASKS[0]
    data = Examples(task.train.x, (task.train.y == task.classes[1]).long())
    draw, meter = stream(0, "fit"), OpsMeter()
    got = own._train_path(path, task, data, own.recipe, draw, meter)
    own.model.keep(0, path)
    with torch.no_grad():
        right = own.logits(task.train.x, task).argmax(1) == task.train.y
    assert got == pytest.approx(float(right.float().mean()))
    better = learner()._train_path(path, task, data, replace(RECIPE, epochs=20), draw, meter)
    assert better > got + 0.1


@pytest.mark.parametrize("generations", [0, 6])
def test_what_it_spends_is_counted_exactly(generations: int) -> None:
    """The products forward and backward and Adam's 8 per parameter of each path, once.

    Paths of the same numbers of modules come again, and then cost what they cost at first.
    """
    settings = SMALL.model_copy(update={"generations": generations})
    own = learner(settings, Noting, replace(RECIPE, epochs=2, batch_size=20))
    spent, expected = own.learn(TASKS[0]).ops, 0
    shapes = [tuple(len(set(modules)) for modules in path.tolist()) for path, _ in own.paths]
    assert len(shapes) == 2 * generations + 1 >= len(set(shapes))
    for (one, two), (_, visits) in zip(shapes, own.paths, strict=True):
        first, second, last = 64 * 8 * one, 8 * 8 * two, 8 * 2
        weights = first + second + last + 8 * one + 8 * two + 2
        # No gradient of the inputs.
        expected += visits * (2 * first + 3 * second + 3 * last) + visits // 20 * 8 * weights
    assert spent == expected
    assert generations == 0 or len(shapes) > len(set(shapes))


def test_a_path_longer_than_a_layer_has_modules_is_refused() -> None:
    said = "active is 5, which is more than the 4 modules of a layer: lower active or raise modules"
    with pytest.raises(ValidationError, match=said):
        PathNetSettings(modules=4)
    assert PathNetSettings(modules=5).active == 5


def test_more_tasks_than_bf16_tells_apart_are_refused() -> None:
    """Of 256 tasks all indices survive bf16, of 257 not."""
    indices = torch.arange(1, 258).float()
    kept = indices.bfloat16().float() == indices
    assert kept.tolist() == [True] * 256 + [False]
    assert len(PathNet.network(SMALL, (65,), 10, 256).state_dict()["learned"]) == 256
    with pytest.raises(InputError, match="PathNet can learn at most 256 tasks, got 257: give"):
        PathNet.network(SMALL, (65,), 10, 257)


def test_a_task_without_outputs_is_refused() -> None:
    many = Scenario(name="x", kind="split", tasks=(replace(TASKS[0], index=6),))
    with pytest.raises(InputError, match="outputs for 5 tasks, but task '0-1' has the index 6"):
        learner().learn(PathNet.view(many).tasks[0])


def test_the_default_training_is_the_supplements() -> None:
    wanted = Recipe(epochs=7, batch_size=16, optimizer="adam", learning_rate=2e-3)
    assert PathNetSettings().training.instead_of(Recipe(epochs=7)) == wanted
