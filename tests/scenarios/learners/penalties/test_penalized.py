"""EWC, EWC++, SI and RWalk: against plain implementations, and their quadratic penalty."""

from dataclasses import replace

import pytest
import torch

from probe.seeding import stream
from scenarios.learners.penalties.quadratic import Quadratic, of_kind
from tests.scenarios.learners.tiny_learners import (
    RECIPE,
    digits,
    learn,
    learner,
    with_norm,
)

TASKS = digits(10).tasks[:3]


@pytest.mark.parametrize("kind", ["ewc", "ewc_online", "rwalk", "si"])
def test_carries_copies_of_trained_parameters_in_float32(kind):
    """With bf16 and frozen parameters, which stay and have no importance."""
    model = with_norm()
    model[0].requires_grad_(False)
    before = model[0].weight.clone()
    own = learn(
        learner(
            kind,
            recipe=replace(RECIPE, precision="bf16"),
            model=model,
        ),
        TASKS[:2],
    )
    assert torch.equal(model[0].weight, before)
    carried = {n: t for n, t in own.carried().items() if n != "constant"}
    trained = {n: p.shape for n, p in model.named_parameters() if p.requires_grad}
    for of in {name.partition(".")[0] for name in carried}:
        assert {n: t.shape for n, t in of_kind(carried, of).items()} == trained
    assert {t.dtype for t in carried.values()} == {torch.float32}
    assert all(torch.isfinite(t).all() for t in carried.values())


def numbers(seed):
    return torch.randn(
        50,
        generator=stream(seed, "numbers"),
        dtype=torch.float64,
    )


def test_a_sum_of_penalties_is_one_penalty_everywhere():
    """Also where an importance is 0 in some of them, or in all."""
    parts = [Quadratic({"p": numbers(k).relu()}, {"p": numbers(-k)}) for k in (1, 2, 3)]
    merged = parts[0].plus(parts[1]).plus(parts[2])
    for at in map(numbers, range(4, 9)):
        each = [
            float((own.importance["p"] * (at - own.anchor["p"]) ** 2).sum())
            + own.constant
            for own in (merged, *parts)
        ]
        assert each[0] == pytest.approx(sum(each[1:]), rel=1e-12)


@pytest.mark.parametrize("kind", ["ewc_online", "rwalk", "si"])
def test_steps_that_early_stopping_discards_count_in_no_importance(kind):
    early = replace(
        RECIPE,
        learning_rate=0.1,
        epochs=40,
        validation=0.3,
        patience=4,
    )
    longer = learn(learner(kind, recipe=early), TASKS[:1])
    best = len(longer.losses) - 1 - 4
    shorter = learn(
        learner(
            kind,
            recipe=replace(
                early,
                epochs=best,
                patience=40,
            ),
        ),
        TASKS[:1],
    )
    assert 0 < best < 36
    for name, expected in shorter.carried().items():
        assert torch.equal(longer.carried()[name], expected), name
