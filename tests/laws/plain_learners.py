"""Replay, distillation and gradient projection as plainly as possible, to compare with.

One loop over tasks, epochs and batches; memories are lists, the teacher is a deep copy,
torch's unfused Adam. It shares with the product only the seeds of its random streams.
"""

import copy

import numpy as np
import torch
from scipy.optimize import lsq_linear
from torch.nn import functional

from probe.seeding import stream


class PlainLearner:
    """A learner by kind: `er`, `gem`, `lwf`, `icarl`, or `finetune` with exemplars."""

    def __init__(self, kind, model, recipe, chosen):
        self.kind = kind
        self.model = model
        self.recipe = recipe
        self.chosen = chosen
        self.groups = []  # task, class, examples
        self.seen = []
        self.teacher = None

    def learn_all(self, tasks):
        """Learn the tasks; yield the model after each."""
        for done, task in enumerate(tasks):
            self.learn(done, task)
            yield self.model

    def learn(self, done, task):
        x, y = task.train.x, task.train.y
        budget = self.chosen.budget
        draws = stream(0, "replay", done)
        old = None
        if self.kind != "gem":
            old = self.memory()
        if self.seen:
            self.teacher = copy.deepcopy(self.model).eval()
        joined = old is not None and budget.replay == "joined"
        if joined:
            x = torch.cat([old[0], x])
            y = torch.cat([old[1], y])
        generator = stream(0, "batches", done)
        optimizer = torch.optim.Adam(
            self.model.parameters(),
            lr=self.recipe.learning_rate,
            foreach=False,
        )
        with torch.random.fork_rng():
            torch.manual_seed(int(torch.randint(2**62, (), generator=generator)))
            for _ in range(self.recipe.epochs):
                order = torch.randperm(len(y), generator=generator)
                for chosen in batches(order, self.recipe.batch_size):
                    inputs = x[chosen]
                    labels = y[chosen]
                    if old is not None and not joined:
                        some = torch.randperm(len(old[1]), generator=draws)[
                            : len(chosen)
                        ]
                        inputs = torch.cat([inputs, old[0][some]])
                        labels = torch.cat([labels, old[1][some]])
                    self.step(inputs, labels, task, optimizer)
        self.seen += [label for label in task.classes if label not in self.seen]
        if budget:
            self.store(done, task, budget)

    def step(self, x, y, task, optimizer):
        self.model.train()
        optimizer.zero_grad()
        self.loss(x, y, task).backward()
        if self.kind == "gem" and self.groups:
            self.project()
        optimizer.step()

    def loss(self, x, y, task):
        scores = self.model(x)
        old = None
        if self.teacher is not None:
            with torch.no_grad():
                old = self.teacher(x)
        if self.kind == "icarl":
            loss = torch.zeros(())
            for label in task.classes:
                loss = loss + binary(scores[:, label], (y == label).to(scores.dtype))
            for label in self.seen:
                loss = loss + binary(scores[:, label], old[:, label].sigmoid())
            return loss
        loss = functional.cross_entropy(scores, y)
        if self.kind == "lwf" and old is not None:
            T = self.chosen.temperature
            p, q = ((z[:, self.seen] / T).log_softmax(1) for z in (old, scores))
            divergence = (p.exp() * (p - q)).sum(1).mean()
            loss = loss + self.chosen.strength * T**2 * divergence
        return loss

    def project(self):
        """Minimize |g + sum_k v_k g_k|^2 over v >= margin, where a constraint is violated."""
        trained = list(self.model.parameters())
        g = torch.cat([p.grad.flatten() for p in trained])
        self.model.eval()
        past = []
        for task in sorted({task for task, *_ in self.groups}):
            own = [(c, x) for k, c, x in self.groups if k == task]
            x = torch.cat([x for _, x in own])
            y = torch.cat([torch.full((len(x),), c) for c, x in own])
            slopes = torch.autograd.grad(
                functional.cross_entropy(self.model(x), y), trained
            )
            past.append(torch.cat([each.flatten() for each in slopes]))
        G = torch.stack(past)
        if bool((G @ g >= 0).all()):
            return
        fit = lsq_linear(
            G.T.numpy(),
            -g.numpy(),
            bounds=(self.chosen.margin, np.inf),
            tol=1e-14,
        )
        g = g + G.T @ torch.from_numpy(fit.x)
        for p, part in zip(trained, g.split([p.numel() for p in trained]), strict=True):
            p.grad = part.view_as(p).clone()

    def memory(self):
        if not self.groups:
            return None
        labels = [torch.full((len(x),), label) for _, label, x in self.groups]
        return torch.cat([x for *_, x in self.groups]), torch.cat(labels)

    def store(self, done, task, budget):
        draw = stream(0, "memory", done + 1)
        count = len(self.groups) + len(task.classes)
        quota = budget.per_class or budget.total // count
        for label in task.classes:
            x = task.train.x[task.train.y == label]
            self.groups.append(
                (done, label, x[self.choose(budget.sampling, x, quota, draw)])
            )
        self.groups = [(task, label, x[:quota]) for task, label, x in self.groups]

    def choose(self, sampling, x, quota, draw):
        if sampling == "uniform":
            return torch.randperm(len(x), generator=draw)[:quota].tolist()
        if sampling == "fifo":
            return list(range(len(x)))[::-1][:quota]
        phi = self.features(x)
        taken = []
        while len(taken) < min(quota, len(x)):
            rest = [k for k in range(len(x)) if k not in taken]
            costs = [
                float((phi[[*taken, k]].mean(0) - phi.mean(0)).norm()) for k in rest
            ]
            taken.append(rest[int(np.argmin(costs))])
        return taken

    def features(self, x):
        """The inputs of the last layer of a chain, of length 1."""
        self.model.eval()
        with torch.no_grad():
            return functional.normalize(self.model[:-1](x), dim=1)

    def nearest_means(self, x):
        """The negative distances (B, K) from the means of the exemplars of each class."""
        phi = self.features(x)
        scores = torch.full((len(x), 10), -torch.inf, dtype=x.dtype)
        for label in self.seen:
            kept = torch.cat([own for _, c, own in self.groups if c == label])
            mean = functional.normalize(self.features(kept).mean(0), dim=0)
            scores[:, label] = -(phi - mean).norm(dim=1)
        return scores


def batches(order, size):
    """Split an order; a last batch of one example, which stops batch norm, joins the one before."""
    *parts, last = order.split(size)
    if parts and len(last) == 1:
        last = torch.cat([parts.pop(), last])
    return [*parts, last]


def binary(scores, targets):
    return functional.binary_cross_entropy_with_logits(scores, targets)
