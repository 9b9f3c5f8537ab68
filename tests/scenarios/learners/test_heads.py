"""One trained model under several heads: what competes, and what follows for its accuracy."""

from functools import partial

import pytest
import torch
from torch import Tensor

from probe.by_layer.heads import barred_but, count
from probe.examples import Examples
from probe.metrics.counts import Counts
from probe.modules import mode
from probe.seeding import stream
from probe.tasks import Scenario
from probe.training.evaluation import predict_each
from probe.training.loop import Recipe
from scenarios.learners.base import Learner
from tests.laws.counting import evaluate
from tests.scenarios.learners.tiny_learners import by_head, digits, learner, logits

CPU = torch.device("cpu")
K = 10
RECIPE = Recipe(epochs=6, batch_size=16)
WHOLE = digits(20)


def trained(kind: str, tasks: int, name: str = "mlp") -> Learner:
    own = learner(kind, name, RECIPE)
    for task in own.view(WHOLE).tasks[:tasks]:
        own.learn(task)
    return own


def heads_of(own: Learner, scenario: Scenario = WHOLE) -> dict[str, Counts]:
    seen = own.view(scenario)
    each = by_head(own, seen).items()
    return {head: count(seen, predicted).total for head, predicted in each}


def test_who_must_be_told_the_task_is_measured_with_it_alone() -> None:
    """Before and after it has learned; the outputs of the example's own task compete."""
    for tasks in (0, 2):
        own = trained("pathnet", tasks)
        [(head, counts)] = heads_of(own).items()
        seen = own.view(WHOLE)
        with mode(own.model, training=False), torch.no_grad():
            predicted = [
                task.classes[int(score)]
                for task in seen.tasks
                for score in own.model(task.test.x)[:, list(task.classes)].argmax(1)
            ]
        assert (head, counts) == ("multi", Counts.of(seen.test.y, predicted, K))
    assert counts.accuracy(WHOLE.tasks[0].classes) > 0.8


@pytest.mark.parametrize("tasks", [0, 1, 3, 5])
def test_they_are_those_of_the_learners_logits(tasks: int) -> None:
    own = trained("finetune", tasks)
    counts = heads_of(own)
    with mode(own.model, training=False):
        assert counts["single"] == evaluate(partial(logits, own), WHOLE.merged.test, K)
        assert counts["all"] == evaluate(own.model, WHOLE.merged.test, K)
        parts = [
            evaluate(lambda x, task=task: logits(own, x, task), task.test, K)
            for task in WHOLE.tasks
        ]
    assert counts["multi"] == sum(parts[1:], parts[0])


# predict_each


def scores_of(n: int, seed: int = 0) -> tuple[Tensor, Examples]:
    draw = stream(seed, "scores")
    return torch.randn(n, K, generator=draw), Examples(
        torch.arange(n).float()[:, None], torch.randint(K, (n,), generator=draw)
    )


def test_each_table_has_predictions_of_its_own() -> None:
    """Against a plain loop over examples, for tables drawn at random, in batches of any size."""
    scores, examples = scores_of(53)
    draw = stream(0, "tables")
    competing = [
        [sorted({*torch.randint(K, (n,), generator=draw).tolist(), y}) for y in range(K)]
        for n in (1, 3, 9)
    ]
    tables = {str(n): barred_but(each, CPU) for n, each in enumerate(competing)}
    got = predict_each(lambda x: scores[x[:, 0].long()], examples, K, {**tables, "": None}, 7)
    assert list(got) == ["0", "1", "2", ""]
    competing.append([[*range(K)]] * K)
    for name, each in zip(got, competing, strict=True):
        loop = [
            max(each[y], key=one.__getitem__)
            for one, y in zip(scores.tolist(), examples.y.tolist(), strict=True)
        ]
        assert got[name].tolist() == loop
