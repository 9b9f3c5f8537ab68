"""Networks that hide something: logits in an answer, the model in a wrapper, a step in numpy."""

import warnings
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from tests.laws.zoo.net import MOVES, SAFE
from tests.laws.zoo.written import written


@written(output="logits")
def returns_a_dict(m: Any, x: Tensor) -> dict[str, Tensor]:
    h = torch.tanh(m.b(torch.tanh(m.a(x))))
    return {"hidden": h, "logits": m.c(h)}


@dataclass
class Answer:
    logits: Tensor
    hidden: Tensor | None = None


class Answering(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Answer:
        return Answer(logits=torch.relu(self.inner(x)), hidden=x)


@written("part part.inner b c", also={"part": Answering}, output="logits")
def a_feature_and_an_answer_that_are_dataclasses(m: Any, x: Tensor) -> Answer:
    answer = m.part(torch.tanh(m.a(x)))
    return Answer(logits=m.c(torch.tanh(m.b(answer.logits + answer.hidden))))


@written(output=1)
def returns_a_tuple(m: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    h = torch.tanh(m.b(torch.tanh(m.a(x))))
    return h, m.c(h)


@written(also={"aux": (6, 3)}, output="logits")
def returns_more_in_train_mode(m: Any, x: Tensor) -> Tensor | Answer:
    h = torch.tanh(m.a(x))
    logits = m.c(torch.tanh(m.b(h)))
    return Answer(logits=logits, hidden=m.aux(h)) if m.training else logits


@written(wrap=nn.DataParallel)
def wrapped(m: Any, x: Tensor) -> Tensor:
    return m.c(torch.tanh(m.b(torch.tanh(m.a(x)))))


class Sign(torch.autograd.Function):
    """Straight through."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.sign()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient


@written("a b mark")
def a_function_of_its_own(m: Any, x: Tensor) -> Tensor:
    return m.c(Sign.apply(m.b(m.mark(Sign.apply(m.a(x))))) + Sign.apply(m.a.weight[0]))


class Reversed(torch.autograd.Function):
    """The input itself, with the gradient's sign turned round (Ganin and Lempitsky 2015)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return -gradient


@written()
def a_gradient_turned_round(m: Any, x: Tensor) -> Tensor:
    return m.c(torch.tanh(m.b(Reversed.apply(torch.tanh(m.a(x))))))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.inner(x)) + x


def scripted() -> nn.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return torch.jit.script(Block())


@written("a s b t", also={"s": scripted, "t": scripted}, ways=SAFE)
def scripted_parts(m: Any, x: Tensor) -> Tensor:
    return m.c(m.t(m.b(m.s(m.a(x)))))


@written("a", refuses={"b": MOVES, "mark": MOVES})
def through_numpy(m: Any, x: Tensor) -> Tensor:
    h = torch.from_numpy(m.a(x).detach().numpy().copy()) * 2
    return m.c(torch.tanh(m.b(m.mark(h))))
