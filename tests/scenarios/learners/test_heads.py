"""One trained model under several heads: the outputs that compete, against plain loops."""

from functools import partial

import pytest
import torch

from probe.examples import Examples
from probe.metrics.counts import Counts
from probe.modules import mode
from probe.seeding import stream
from probe.training.evaluation import barred_but, predict_each
from tests.laws.counting import evaluate
from tests.scenarios.learners.tiny_learners import (
    by_head,
    digits,
    learn,
    learner,
    logits,
)

K = 10
WHOLE = digits(10)


def heads_of(own):
    seen = own.view(WHOLE)
    return {
        head: Counts.of(seen.test.y, each, K)
        for head, each in by_head(own, seen).items()
    }


@pytest.mark.parametrize("tasks", [0, 2])
def test_a_learner_that_needs_the_task_is_measured_with_it_alone(tasks):
    """Before and after it has learned; the outputs of the example's task compete."""
    own = learner("pathnet")
    seen = learner("pathnet").view(WHOLE)
    [(head, counts)] = heads_of(learn(own, seen.tasks[:tasks])).items()
    with mode(own.model, training=False), torch.no_grad():
        predicted = []
        for task in seen.tasks:
            classes = torch.tensor(task.classes)
            best = own.model(task.test.x)[:, classes].argmax(1)
            predicted += classes[best].tolist()
    assert (head, counts) == ("multi", Counts.of(seen.test.y, predicted, K))


@pytest.mark.parametrize("tasks", [0, 3])
def test_heads_are_those_of_the_logits_of_the_learner(tasks):
    own = learn(learner("finetune"), WHOLE.tasks[:tasks])
    counts = heads_of(own)
    with mode(own.model, training=False):
        assert counts["single"] == evaluate(partial(logits, own), WHOLE.merged.test, K)
        assert counts["all"] == evaluate(own.model, WHOLE.merged.test, K)
        each = [
            evaluate(partial(logits, own, task=task), task.test, K)
            for task in WHOLE.tasks
        ]
    assert counts["multi"] == Counts(sum(counts.table for counts in each))


def test_each_table_has_predictions_of_its_own():
    """Against a plain loop over examples, for tables drawn at random, in batches of 7."""
    draw = stream(0, "tables")
    scores = torch.randn(53, K, generator=draw)
    y = torch.randint(K, (53,), generator=draw)
    examples = Examples(torch.arange(53).float()[:, None], y)
    competing = []
    tables = {}
    for n in (1, 3, 9):
        drawn = [torch.randint(K, (n,), generator=draw).tolist() for _ in range(K)]
        competing.append([sorted({*own, k}) for k, own in enumerate(drawn)])
        tables[str(len(tables))] = barred_but(competing[-1], K, torch.device("cpu"))
    everything = {**tables, "": None}

    def of_rows(x):
        return scores[x[:, 0].long()]

    got = predict_each(of_rows, examples, K, everything, 7)[0]
    for name, each in zip(
        ("0", "1", "2", ""), [*competing, [[*range(K)]] * K], strict=True
    ):
        rows = zip(scores.tolist(), y.tolist(), strict=True)
        assert got[name].tolist() == [
            max(each[y], key=one.__getitem__) for one, y in rows
        ]
