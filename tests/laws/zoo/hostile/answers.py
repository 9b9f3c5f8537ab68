"""Networks that hide something: logits in an answer, the model in a wrapper, a step in numpy."""

import warnings
from dataclasses import dataclass

import torch
from torch import Tensor, nn, relu, tanh

from tests.laws.zoo.net import MOVES, SAFE
from tests.laws.zoo.written import written


@written(output="logits")
def returns_a_dict(m, x):
    h = tanh(m.a(x))
    h = tanh(m.b(h))
    return {"hidden": h, "logits": m.c(h)}


@dataclass
class Answer:
    logits: Tensor
    hidden: Tensor | None = None


class Answering(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(6, 6)

    def forward(self, x):
        return Answer(logits=relu(self.inner(x)), hidden=x)


@written(
    "part part.inner b c",
    also={"part": Answering},
    output="logits",
)
def a_feature_and_an_answer_that_are_dataclasses(m, x):
    answer = m.part(tanh(m.a(x)))
    h = tanh(m.b(answer.logits + answer.hidden))
    return Answer(logits=m.c(h))


@written(output=1)
def returns_a_tuple(m, x):
    h = tanh(m.a(x))
    h = tanh(m.b(h))
    return h, m.c(h)


@written(also={"aux": (6, 3)}, output="logits")
def returns_more_in_train_mode(m, x):
    h = tanh(m.a(x))
    logits = m.c(tanh(m.b(h)))
    if m.training:
        return Answer(logits=logits, hidden=m.aux(h))
    return logits


@written(wrap=nn.DataParallel)
def wrapped(m, x):
    h = tanh(m.a(x))
    h = tanh(m.b(h))
    return m.c(h)


class Sign(torch.autograd.Function):
    """Straight through."""

    @staticmethod
    def forward(ctx, x):
        return x.sign()

    @staticmethod
    def backward(ctx, gradient):
        return gradient


@written("a b mark")
def a_function_of_its_own(m, x):
    h = Sign.apply(m.a(x))
    h = Sign.apply(m.b(m.mark(h)))
    return m.c(h + Sign.apply(m.a.weight[0]))


class Reversed(torch.autograd.Function):
    """The input itself, with the gradient's sign turned round (Ganin and Lempitsky 2015)."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return -gradient


@written()
def a_gradient_turned_round(m, x):
    h = Reversed.apply(tanh(m.a(x)))
    h = tanh(m.b(h))
    return m.c(h)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(6, 6)

    def forward(self, x):
        return relu(self.inner(x)) + x


def scripted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return torch.jit.script(Block())


@written(
    "a s b t",
    also={"s": scripted, "t": scripted},
    ways=SAFE,
)
def scripted_parts(m, x):
    h = m.t(m.b(m.s(m.a(x))))
    return m.c(h)


@written("a", refuses={"b": MOVES, "mark": MOVES})
def through_numpy(m, x):
    h = torch.from_numpy(m.a(x).detach().numpy().copy()) * 2
    h = m.mark(h)
    h = tanh(m.b(h))
    return m.c(h)
