"""EWC, EWC++, SI and RWalk as plainly as possible, to compare with; slow on purpose.

One vector of all parameters, one Fisher per task, the penalty a part of the loss that
autograd differentiates, torch's unfused optimizers.
"""

import torch
from torch.nn import functional
from torch.nn.utils import parameters_to_vector

from probe.seeding import stream


def weights(model):
    return parameters_to_vector(model.parameters()).detach().clone()


def fisher_by_loop(model, data, outputs=None):
    """The mean of squared gradients of log p(y|x), one example after the other, by `backward`.

    outputs: those that compete, None for all.
    """
    model.eval()
    trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
    total = {n: torch.zeros_like(p) for n, p in trained.items()}
    for x, label in zip(data.x.split(1), data.y.tolist(), strict=True):
        model.zero_grad()
        scores = model(x.clone())[0]
        among = list(outputs or range(len(scores)))
        functional.log_softmax(scores[among], 0)[among.index(label)].backward()
        for n, p in trained.items():
            if p.grad is not None:
                total[n] += p.grad**2 / len(data)
    model.zero_grad()
    return total


class Plain:
    """Each method by its formulas, after one another."""

    def __init__(self, chosen, model):
        self.chosen, self.model = chosen, model
        self.terms = []
        zero = torch.zeros_like(weights(model))
        self.fisher = zero.clone()
        self.omega = zero.clone()
        self.old_score = None

    def learn(self, data, recipe, generator):
        torch.randint(2**62, (), generator=generator)
        classes = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}
        optimizer = classes[recipe.optimizer](
            self.model.parameters(),
            lr=recipe.learning_rate,
            foreach=False,
        )
        self.start = self.mark = weights(self.model)
        self.path = torch.zeros_like(self.start)
        self.drop = torch.zeros_like(self.start)
        self.score = torch.zeros_like(self.start)
        self.steps = 0
        for _ in range(recipe.epochs):
            order = torch.randperm(len(data), generator=generator)
            for chosen in order.split(recipe.batch_size):
                self.step(data.x[chosen], data.y[chosen], optimizer)
        getattr(self, f"end_{self.chosen.kind}")(data)

    def step(self, x, y, optimizer):
        g = self.slope(x, y)
        before = weights(self.model)
        theta = parameters_to_vector(self.model.parameters())
        penalty = sum((w * (theta - a) ** 2).sum() for w, a in self.terms)
        half = 0.5 if self.chosen.kind.startswith("ewc") else 1.0
        total = functional.cross_entropy(self.model(x), y)
        total = total + half * self.chosen.strength * penalty
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        self.path -= g * (weights(self.model) - before)
        self.steps += 1
        online = self.chosen.kind in ("ewc_online", "rwalk")
        if online and self.steps % self.chosen.fisher_interval == 0:
            alpha = self.chosen.alpha
            self.fisher = alpha * len(y) * g**2 + (1 - alpha) * self.fisher
        if self.chosen.kind == "rwalk":
            self.drop -= g * (weights(self.model) - before)
            if self.steps % self.chosen.interval == 0:
                self.close()

    def slope(self, x, y):
        loss = functional.cross_entropy(self.model(x), y)
        gradients = torch.autograd.grad(loss, list(self.model.parameters()))
        return torch.cat([g.flatten() for g in gradients])

    def close(self):
        moved = weights(self.model) - self.mark
        euclidean = self.chosen.distance == "euclidean"
        distance = moved**2 * (1 if euclidean else self.fisher / 2)
        share = self.drop / (distance + self.chosen.epsilon)
        if self.chosen.clipped == "interval":
            share = share.clamp(0)
        self.score = self.score + share
        self.mark = weights(self.model)
        self.drop = torch.zeros_like(self.drop)

    def end_ewc(self, data):
        draw = stream(0, "fisher", len(self.terms) + 1)
        count = self.chosen.fisher_examples
        some = data.take(torch.randperm(len(data), generator=draw)[:count])
        fisher = fisher_by_loop(self.model, some).values()
        flat = torch.cat([f.flatten() for f in fisher])
        self.terms.append((flat, weights(self.model)))

    def end_ewc_online(self, data):
        fisher = self.fisher
        if self.chosen.normalized:
            fisher = unit(fisher)
        self.terms = [(fisher, weights(self.model))]

    def end_si(self, data):
        moved = weights(self.model) - self.start
        share = self.path.clamp(min=0) / (moved**2 + self.chosen.damping)
        self.omega = self.omega + share
        self.terms = [(self.omega, weights(self.model))]

    def end_rwalk(self, data):
        self.close()
        new = self.score.clamp(min=0)
        self.old_score = new if self.old_score is None else (self.old_score + new) / 2
        self.terms = [(unit(self.fisher) + unit(self.old_score), weights(self.model))]


def unit(v):
    return (v - v.min()) / (v.max() - v.min())
