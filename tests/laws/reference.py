"""The whole protocol written as plainly as possible, to compare with; slow on purpose.

Deep copies, `requires_grad_(False)`, torch's own initializers, the unfused Adam, a full
forward pass of the whole network in every step. It shares with the product only the
seeds of its random streams, so that both draw the same batches and the same fresh
weights.
"""

import copy

import torch
from torch import nn

from probe.seeding import stream


def fresh(model, generator, prefix=()):
    """He for convolutions, N(0, 0.01^2) for dense weights, zero biases, norms as torch has them."""
    for name, module in model.named_modules():
        if any(name == held or name.startswith(f"{held}.") for held in prefix):
            continue
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(
                module.weight,
                nonlinearity="relu",
                generator=generator,
            )
        elif isinstance(module, nn.Linear):
            nn.init.normal_(
                module.weight,
                std=0.01,
                generator=generator,
            )
        elif isinstance(module, nn.modules.batchnorm._BatchNorm):
            torch.randint(
                2**62, (), generator=generator
            )  # the product lends it a stream
            module.reset_parameters()
        if isinstance(module, nn.Conv2d | nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)


def train(model, x, y, recipe, generator, prefix=()):
    """Train what is not in the prefix."""
    trainable = [p for p in model.parameters() if p.requires_grad]
    kind = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}[recipe.optimizer]
    optimizer = kind(trainable, lr=recipe.learning_rate, foreach=False)
    with torch.random.fork_rng():
        torch.manual_seed(
            int(torch.randint(2**62, (), generator=generator))
        )  # of dropout
        for _ in range(recipe.epochs):
            for batch in torch.randperm(len(x), generator=generator).split(
                recipe.batch_size
            ):
                model.train()
                for held in prefix:
                    model.get_submodule(held).eval()
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
                optimizer.step()


def predictions(model, x, competing=None):
    """One prediction per example, one example at a time, among the competing classes."""
    model.eval()
    answers = []
    with torch.no_grad():
        for one in x:
            logits = model(one[None])[0].tolist()
            among = competing or range(len(logits))
            answers.append(max(among, key=lambda c: logits[c]))
    return answers


def partial_retrained(model, prefix, x, y, recipe, seed):
    """Retrain a copy of the model downstream of the last stage named in `prefix`."""
    own = copy.deepcopy(model)
    for held in prefix:
        own.get_submodule(held).requires_grad_(False)
    feature = prefix[-1]
    fresh(own, stream(seed, "tail", feature), prefix)
    train(own, x, y, recipe, stream(seed, "retrain", feature), prefix)
    return own
