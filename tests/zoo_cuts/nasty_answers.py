"""Networks that hide something: logits in an answer, the model in a wrapper, a step in numpy."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from tests.zoo_cuts.nasty_writes import ABC
from tests.zoo_cuts.net import SAFE, Net
from tests.zoo_cuts.written import collected, written


@written((6,), "a b", ABC, output="logits")
def returns_a_dict(m: Any, x: Tensor) -> dict[str, Tensor]:
    h = torch.tanh(m.b(torch.tanh(m.a(x))))
    return {"hidden": h, "logits": m.c(h)}


@dataclass
class Answer:
    logits: Tensor
    hidden: Tensor | None = None


@written((6,), "a b c", ABC, output="logits")
def returns_a_dataclass(m: Any, x: Tensor) -> Answer:
    h = torch.tanh(m.b(torch.tanh(m.a(x))))
    return Answer(logits=m.c(h), hidden=h)


class Answering(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Answer:
        return Answer(logits=torch.relu(self.inner(x)), hidden=x)


@written((6,), "part part.inner b", {**ABC, "part": Answering})
def a_feature_that_is_a_dataclass(m: Any, x: Tensor) -> Tensor:
    answer = m.part(torch.tanh(m.a(x)))
    return m.c(torch.tanh(m.b(answer.logits + answer.hidden)))


@written((6,), "a b", ABC, output=1)
def returns_a_tuple(m: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    h = torch.tanh(m.b(torch.tanh(m.a(x))))
    return h, m.c(h)


@written((6,), "a b", {**ABC, "aux": (6, 3)}, output="logits")
def returns_more_in_train_mode(m: Any, x: Tensor) -> Tensor | Answer:
    h = torch.tanh(m.a(x))
    logits = m.c(torch.tanh(m.b(h)))
    return Answer(logits=logits, hidden=m.aux(h)) if m.training else logits


@written((6,), "a b", ABC, wrap=nn.DataParallel)
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


@written((6,), "a b mark", {**ABC, "mark": nn.Identity})
def a_function_of_its_own(m: Any, x: Tensor) -> Tensor:
    return m.c(Sign.apply(m.b(m.mark(Sign.apply(m.a(x))))) + Sign.apply(m.a.weight[0]))


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


@written(
    (6,),
    dict.fromkeys(("a", "s", "b", "t"), SAFE),
    {**ABC, "s": scripted, "t": scripted},
)
def scripted_parts(m: Any, x: Tensor) -> Tensor:
    return m.c(m.t(m.b(m.s(m.a(x)))))


@written((6,), dict.fromkeys(("a", "b", "mark"), SAFE), {**ABC, "mark": nn.Identity})
def through_numpy(m: Any, x: Tensor) -> Tensor:
    h = torch.from_numpy(m.a(x).detach().numpy().copy()) * 2
    return m.c(torch.tanh(m.b(m.mark(h))))


@written((6,), {"mark": SAFE}, {**ABC, "mark": nn.Identity})
def through_a_number(m: Any, x: Tensor) -> Tensor:
    return m.c(torch.tanh(m.b(m.mark(x * m.a.weight[0, 0].item()))))


ANSWERS: dict[str, Net] = collected(dict(globals()))
