"""Layers frozen from a task on: they stay bit for bit, the others learn as they would without."""

import copy
from dataclasses import replace

import pytest
import torch
from torch import nn

from probe.examples import Examples
from probe.modules import mode
from probe.training.loop import fit
from tests.scenarios.learners.tiny_learners import (
    RECIPE,
    digits,
    equal,
    learn,
    learner,
    same,
    with_norm,
)

TASKS = digits(12).tasks[:3]
# Without a chain, and with whatever moves a parameter that has no gradient.
DECAYING = replace(
    RECIPE,
    optimizer="sgd",
    learning_rate=0.05,
    momentum=0.9,
    weight_decay=0.1,
    clip_norm=1.0,
    precision="tf32",
)


def weights(learner, name):
    """Return copies of a module's parameters and buffers."""
    return copy.deepcopy(learner.model.get_submodule(name).state_dict())


def test_what_the_user_has_frozen_stays_frozen():
    model = with_norm()
    model[0].weight.requires_grad_(False)
    trainee = learner("finetune", model=model, freeze=["0"])
    learn(trainee, TASKS[:2])
    assert not trainee.model[0].weight.requires_grad
    assert trainee.model[0].bias.requires_grad


@pytest.mark.parametrize("recipe", [RECIPE, DECAYING], ids=["adam", "sgd"])
@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("finetune", {}),
        ("ewc", {"strength": 100.0}),
        (
            "ewc_online",
            {
                "strength": 10.0,
                "normalized": True,
            },
        ),
        ("si", {}),
        ("rwalk", {}),
        ("er", {}),
        ("lwf", {}),
        ("gem", {}),
        ("icarl", {}),
        ("fel", {}),
    ],
)
def test_frozen_layers_stay_bit_for_bit_and_the_others_learn(kind, given, recipe):
    """With batch norm among them, whose statistics stay too; modes and flags are as before."""
    trainee = learner(
        kind,
        model=with_norm(),
        recipe=recipe,
        freeze=["0", "1"],
        **given,
    )
    learn(trainee, TASKS[:1])
    before = {name: weights(trainee, name) for name in ("0", "1", "4")}
    learn(trainee, TASKS[1:])
    assert equal(weights(trainee, "0"), before["0"])
    assert equal(weights(trainee, "1"), before["1"])
    assert not torch.equal(weights(trainee, "4")["weight"], before["4"]["weight"])
    assert all(p.requires_grad for p in trainee.model.parameters())
    assert all(m.training and "train" not in vars(m) for m in trainee.model.modules())


@pytest.mark.parametrize("precision", ["fp32", "tf32"])
def test_the_other_layers_learn_as_on_what_the_frozen_ones_give(
    precision,
):
    """As a head that is trained by itself on what the frozen layers give in eval mode."""
    recipe = replace(RECIPE, precision=precision)
    trainee = learner(
        "finetune",
        model=with_norm(),
        recipe=recipe,
        freeze=["0", "1"],
    )
    learn(trainee, TASKS[:1])
    stages = list(trainee.model.children())
    head = copy.deepcopy(stages[4])
    task = TASKS[1]
    with torch.no_grad(), mode(trainee.model, training=False):
        inputs = nn.Sequential(*stages[:4])(task.train.x)
    fit(head, Examples(inputs, task.train.y), recipe, trainee.stream("batches"))
    trainee.learn(task)
    torch.testing.assert_close(weights(trainee, "4"), head.state_dict())


def test_no_layer_is_frozen_before_its_task_or_by_an_empty_list():
    plain = learner("ewc_online", model=with_norm())
    empty = learner("ewc_online", model=with_norm(), freeze=[])
    later = learner("ewc_online", model=with_norm(), freeze=["0"], freeze_from=3)
    for trainee in (plain, empty, later):
        learn(trainee, TASKS[:2])
    assert same(later, plain)
    assert equal(later.state(), plain.state())
    for trainee in (plain, empty, later):
        trainee.learn(TASKS[2])
    assert same(empty, plain)
    assert not same(later, plain)


@pytest.mark.parametrize("kind", ["ewc", "si", "ewc_online", "rwalk"])
def test_no_penalty_is_on_what_is_frozen(kind):
    trainee = learn(
        learner(kind, model=with_norm(), freeze=["0"]),
        TASKS[:2],
    )
    names = {name.partition(".")[2] for name in trainee.state()} - {""}
    assert names == {"1.weight", "1.bias", "4.weight", "4.bias"}
