"""PathNet: it forgets nothing, and its search by tournaments follows the law of mutation."""

import math

import torch
from scipy import stats

from probe.seeding import stream
from probe.training.fresh_weights import initialize
from probe.training.loop import Recipe
from scenarios.learners.kemker.pathnet import (
    PathNet,
    PathNetSettings,
    mutated,
    search_path,
)
from tests.scenarios.learners.tiny_learners import digits, logits

SMALL = PathNetSettings(
    modules=6,
    active=3,
    width=8,
    population=6,
    generations=3,
    batches=4,
    training=None,
)
RECIPE = Recipe(
    epochs=20,
    batch_size=16,
    learning_rate=5e-3,
    init="torch",
)
SCENARIO = PathNet.view(digits(30))
TASKS = SCENARIO.tasks


class Noting(PathNet):
    """Notes every path that is trained, and on how much."""

    def begin(self, task):
        super().begin(task)
        self.paths = []

    def _train_path(self, path, task, data, recipe, *rest):
        self.paths.append((path, len(data) * recipe.epochs))
        return super()._train_path(path, task, data, recipe, *rest)


def accuracy(own, task):
    with torch.no_grad():
        return float(
            (logits(own, task.test.x, task).argmax(1) == task.test.y).float().mean()
        )


def test_it_learns_each_task_and_forgets_nothing_at_all_in_any_order():
    """Gates, the learned flag and scores go by the task's index, not by when it was learned."""
    model = PathNet.network(SMALL, (65,), 10, 5)
    initialize(model, RECIPE.init, stream(0, "init"))
    own = Noting(model, RECIPE, SMALL, 0)
    best = {}
    scores = {}
    untrained = sum(accuracy(own, task) for task in TASKS) / 5
    for task in SCENARIO.reordered([2, 3, 4, 0, 1]).tasks:
        outputs = own.model.output.dense.weight.detach().clone()
        own.learn(task)
        *tried, (best[task.index], visits) = own.paths
        assert [count for _, count in tried] == [4 * 16] * 6
        assert visits == 20 * len(task.train)
        moved = (
            (own.model.output.dense.weight != outputs)
            .any(1)
            .nonzero()
            .flatten()
            .tolist()
        )
        assert moved == [(task.index - 1) * 10 + c for c in task.classes]
        with torch.no_grad():
            scores[task.index] = own.scores(task.test.x)
        assert set((own.model.learned.nonzero().flatten() + 1).tolist()) == best.keys()
        for index, path in best.items():
            for layer, modules in zip(own.model.layers, path.tolist(), strict=True):
                on_it = layer.gates[index - 1].nonzero().flatten().tolist()
                assert on_it == sorted(set(modules))
                assert layer.frozen[modules].all()
    for task in TASKS:
        with torch.no_grad():
            assert torch.equal(own.scores(task.test.x), scores[task.index])
    assert untrained < 0.7
    assert sum(accuracy(own, task) for task in TASKS) / 5 > 0.8


# The search

L = 2
N = 5
M = 10


def test_the_fittest_of_all_legal_paths_that_were_evaluated_is_the_result():
    """Two in each tournament; where fitness does not change, the best never loses one."""
    for seed in range(5):
        draw = stream(seed, "search")
        seen = []

        def fitness(path, seen=seen):
            seen.append(path)
            return float(path.sum())

        paths = torch.randint(M, (16, L, N), generator=draw)
        best = search_path(
            fitness,
            paths,
            M,
            100,
            draw,
        )
        assert len(seen) == 200
        assert int(best.sum()) == max(int(path.sum()) for path in seen)
        for path in [*seen, best]:
            assert path.shape == (L, N)
            assert 0 <= int(path.min()) <= int(path.max()) < M
        assert torch.equal(
            search_path(
                lambda p: 0.0,
                paths,
                M,
                0,
                draw,
            ),
            paths[0],
        )


def test_the_law_of_mutation():
    """Each gene with probability 1 / (L N), by -2 to 2 alike, of which one in five moves by 0."""
    draw = stream(0, "mutation")
    path = torch.randint(M, (L, N), generator=draw)
    after = torch.stack([mutated(path, M, draw) for _ in range(4000)])
    assert 0 <= int(after.min()) <= int(after.max()) < M
    moved = (after - path + M // 2) % M - M // 2
    counts = (moved != 0).sum((1, 2)).bincount(minlength=5)
    got = [*counts[:4].tolist(), int(counts[4:].sum())]
    expected = [stats.binom(L * N, 0.8 / (L * N)).pmf(k) for k in range(4)]
    expected.append(1 - math.fsum(expected))
    assert stats.chisquare(got, [sum(got) * p for p in expected]).pvalue > 0.01
    steps = [int((moved == step).sum()) for step in (-2, -1, 1, 2)]
    assert sum(steps) == int((moved != 0).sum())
    assert stats.chisquare(steps).pvalue > 0.01
    for gene in (0, 9):
        met = {int(mutated(torch.tensor([[gene]]), M, draw)) for _ in range(200)}
        assert met == {(gene + step) % M for step in range(-2, 3)}
