"""Networks that are made of two, or fitted to few examples: copies, never the user's own."""

from collections.abc import Collection
from typing import cast

import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from probe.batch import Value, gather
from probe.cut.model_call import ModelCall
from probe.errors import InputError
from probe.modules import (
    copied,
    eval_with_gradients,
    named_state,
    state_groups,
    trained_of,
)
from probe.rewinding.blocks import with_new_rows
from probe.rewinding.scoring import (
    Pair,
    ScoreName,
    batches,
    on_device_of,
    repeatable_eval,
    rows_for,
    score_of,
)
from probe.seeding import stream
from probe.training.batch_norm import reestimate
from probe.training.fresh_weights import initialize
from probe.training.optimizers import updates
from probe.training.recipe import Recipe

BATCH = 32
"""Stored examples of a step."""


def averaged(
    before: nn.Module,
    after: nn.Module,
    share: float,
    names: Collection[str] | None = None,
) -> nn.Module:
    """Return the average of two networks (Wortsman et al., CVPR 2022).

    Args:
        before: The network before.
        after: The network after; everything else is copied from it.
        share: The weight of the network before, in [0, 1].
        names: The tensors to average; None = all. Whole and infinite numbers are not
            averaged.
    """
    network = copied(after)
    state = named_state(network)
    earlier_state = named_state(before)
    for name, *_ in state_groups(before):
        earlier = earlier_state[name]
        later = state[name]
        if (names is None or name in names) and later.is_floating_point():
            rows = with_new_rows(name, earlier.detach(), later.detach())
            mean = share * rows + (1 - share) * later.detach()
            # A mask of -inf would leave no output of either network.
            later.data = mean.where(mean.isfinite(), later.detach())
    return network


def with_new_statistics(after: nn.Module, x: Value, call: ModelCall) -> nn.Module:
    """Return the network with its norm statistics estimated again.

    Args:
        after: The network.
        x: The inputs (N, ...) to take the statistics from.
        call: The call of the network.
    """
    network = copied(after)
    reestimate(network, on_device_of(network, x), call)
    return network


def with_fresh_values(
    network: nn.Module, names: Collection[str], seed: int
) -> nn.Module:
    """Return a copy in which some parameters are drawn anew.

    Args:
        network: The network.
        names: The names of the parameters.
        seed: The seed of the draw.
    """
    copy = copied(network)
    keep = named_state(copy).keys() - set(names)
    initialize(copy, "torch", stream(seed, "new head"), keep=keep)
    return copy


def fine_tuned(
    network: nn.Module,
    names: Collection[str],
    examples: Pair,
    call: ModelCall,
    score: ScoreName,
    seed: int,
    steps: int,
    rate: float,
) -> nn.Module:
    """Return a copy that is trained on few examples, by Adam on random batches.

    The network stays in eval mode: few examples have no norm statistics worth keeping.

    Args:
        network: The network.
        names: The parameters to train.
        examples: The examples.
        call: The call of the network.
        score: The score that is trained for; of `accuracy`, the cross-entropy.
        seed: The seed of the batches.
        steps: The number of steps.
        rate: The learning rate.
    """
    copy = copied(network)
    x, y = (on_device_of(copy, value) for value in examples)
    labels = cast(Tensor, y)
    objective: ScoreName = "loss" if score == "accuracy" else score
    for name, parameter in copy.named_parameters():
        parameter.requires_grad = name in names
    trained = trained_of(copy)
    update = updates(trained, Recipe(learning_rate=rate), steps)
    draw = stream(seed, "batches")
    with torch.enable_grad(), eval_with_gradients(copy):
        for _ in range(steps):
            rows = torch.randperm(len(labels), generator=draw, device="cpu")[:BATCH]
            rows = rows.to(labels.device)
            outputs = call(copy, gather(x, rows))
            loss = -score_of(objective, outputs, labels[rows]).mean()
            if not loss.requires_grad:
                raise InputError("the network runs without gradients: leave out train=")
            loss.backward()
            update()
            for parameter in trained:
                parameter.grad = None
    return copy


@torch.no_grad()
def outputs_on(network: nn.Module, x: Value, call: ModelCall) -> Tensor:
    """Return the outputs of a network on all inputs x, (N, K)."""
    with repeatable_eval(network):
        parts = [call(network, rows_for(network, x, rows)).cpu() for rows in batches(x)]
    return torch.cat(parts)


def best_renaming(logits: Tensor, y: Tensor) -> Tensor:
    """Return the output that predicts each class best, one for each, (K,).

    A class keeps its output where no other one predicts it better.

    Args:
        logits: The outputs, (N, K).
        y: The labels, (N,).

    >>> best_renaming(torch.eye(3)[[1, 2, 0]], torch.tensor([0, 1, 2])).tolist()
    [1, 2, 0]
    """
    predicted = logits.argmax(1).cpu()
    present = torch.cat([y.cpu(), predicted]).unique()
    rows = torch.searchsorted(present, y.cpu())
    columns = torch.searchsorted(present, predicted)
    K = len(present)
    counts = torch.bincount(rows * K + columns, minlength=K**2).view(K, K).double()
    _, outputs = linear_sum_assignment(counts + torch.eye(K) / 2, maximize=True)
    order = torch.arange(logits.shape[1])
    order[present] = present[torch.as_tensor(outputs)]
    return order


def best_bias(logits: Tensor, y: Tensor, weights: Tensor) -> Tensor:
    """Return the bias of each class that minimizes the weighted cross-entropy, (K,).

    Args:
        logits: The outputs, (N, K).
        y: The labels, (N,).
        weights: The weight of each example, (N,), with sum 1.
    """
    # A weak penalty: classes without examples keep their bias.
    bias = torch.zeros(logits.shape[1], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([bias], max_iter=100, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        losses = cross_entropy(logits.double() + bias, y.cpu(), reduction="none")
        loss = (losses * weights).sum() + bias.square().sum() / len(y)
        loss.backward()
        return loss

    with torch.enable_grad():
        optimizer.step(closure)
    return bias.detach()
