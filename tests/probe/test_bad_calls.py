"""Data and models that do not fit: one sentence each, before any training."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from probe import Examples, Recipe
from probe.errors import InputError
from probe.retraining import PartialRetraining
from tests.probe.calls import (
    DATA,
    NAN,
    Case,
    Named,
    Two,
    WholeNumber,
    X,
    Y,
    check_told,
    in_inference_mode,
    net,
    normed,
    of_cuts,
    retrained,
    two,
    words,
)

DATA_CASES: dict[str, Case] = {
    "x is a list": (lambda: Examples([X], Y), "got list, Tensor: use torch.as_tensor, or"),
    "x is of numpy": (lambda: Examples(X.numpy(), Y), "got ndarray, Tensor: use torch.as_tensor"),
    "no tensor in a mapping": (
        lambda: Examples({"left": X, "right": None}, Y),
        "got dict, Tensor with NoneType in it: use",
    ),
    "a mapping by numbers": (lambda: Examples({0: X}, Y), "the names of the model's arguments"),
    "an empty mapping": (lambda: Examples({}, Y), "or a tuple or mapping of tensors"),
    "labels float": (lambda: Examples(X, Y.float()), "labels must be an int64 vector (N,), got"),
    "labels one-hot": (
        lambda: Examples(X, torch.eye(2)[Y]),
        "int64 vector (N,), got torch.float",
    ),
    "labels a list": (lambda: Examples(X, Y.tolist()), "and y a tensor, got Tensor, list"),
    "fewer labels": (lambda: Examples(X, Y[:3]), "equally many examples, got x (24, 4) and y (3,)"),
    "uneven inputs": (lambda: Examples((X, X[:3]), Y), "got x [(24, 4), (3, 4)] and y (24,)"),
    "sparse": (lambda: Examples(X.to_sparse(), Y), "plain tensors, got a sparse or nested one"),
    "a loader": (
        lambda: retrained(train=DataLoader(TensorDataset(X, Y))),
        "train must be Examples, got DataLoader: use Examples(x, y), or Examples.of",
    ),
    "a pair": (lambda: retrained(test=(X, Y)), "test must be Examples, got tuple"),
    "no training example": (
        lambda: retrained(train=Examples(X[:0], Y[:0]), test=DATA),
        "train holds no examples",
    ),
    "no test example": (lambda: retrained(test=Examples(X[:0], Y[:0])), "test holds no examples"),
    "test of another shape": (
        lambda: retrained(test=Examples(X[:, :3], Y)),
        "an example of train is float32 (4,), of test float32 (3,): give both one shape",
    ),
    "test of another type": (
        lambda: retrained(test=Examples(X.double(), Y)),
        "of test float64 (4,): give both one shape and type",
    ),
    "test of other keys": (
        lambda: two(Examples({"left": X, "right": X}, Y), Examples({"left": X}, Y)),
        "train has x of left, right, test of left: give both the same names",
    ),
    "test by position": (
        lambda: two(Examples({"left": X, "right": X}, Y), Examples((X, X), Y)),
        "of test (float32 (4,), float32 (4,)): give both",
    ),
    "NaN in one of a mapping": (
        lambda: two(Examples({"left": X, "right": NAN}, Y)),
        "train has NaN or Inf in example 5: clean the data first",
    ),
    "strange labels": (lambda: retrained(train=Examples(X, Y + 5)), "train has labels [5, 6]"),
    "a number too large for the words": (
        lambda: retrained(words(), train=Examples(torch.arange(48).view(24, 2) // 8, Y)),
        "IndexError: index out of range in self on a batch x of int64 (24, 2): check that",
    ),
}

MODEL_CASES: dict[str, Case] = {
    "doubles": (lambda: retrained(train=Examples(X.double(), Y)), "pass x.float()"),
    "bytes": (
        lambda: retrained(train=Examples(X.to(torch.uint8), Y)),
        "pass call=lambda model, x: model(x.float() / 255)",
    ),
    "an input too few": (
        lambda: retrained(Two(), ["a"]),
        "missing 1 required positional argument: 'right' on a batch x of float32 (8, 4): check the "
        "shapes, and say with call=",
    ),
    "an input too many": (lambda: retrained(train=Examples((X, X), Y)), "say with call= how"),
    "a key of no argument": (
        lambda: two(Examples({"left": X, "centre": X}, Y)),
        "unexpected keyword argument 'centre'",
    ),
    "no logits named": (
        lambda: retrained(Named(), ["net.1"]),
        "the model returns dict, expected one tensor of logits: name the logits with output= one "
        "of 'scores', 'x'",
    ),
    "an unknown output": (
        lambda: retrained(Named(), ["net.1"], output="logits"),
        "'logits' in it is no tensor",
    ),
    "a list of outputs": (
        lambda: retrained(Named(), ["net.1"], output=["scores"]),
        "output= must be a name or a position in the output, got list",
    ),
    "a call that returns nothing": (
        lambda: retrained(call=lambda model, x: None),
        "the model returns NoneType, expected one tensor of logits: return a tensor",
    ),
    "a call that is none": (lambda: retrained(call="model(x)"), "call= must be a function of"),
    "a call without the model": (lambda: retrained(call=lambda x: x), "takes 1 positional"),
    "a call of one row": (
        lambda: retrained(call=lambda model, x: model(x[:1])),
        "for 4 examples has shape (1, 2), expected (B, K), one row for each example",
    ),
    "logits of three dimensions": (
        lambda: retrained(call=lambda model, x: model(x).unsqueeze(1)),
        "the model's output has shape ('B', 1, 2), expected (B, K)",
    ),
    "no gradient": (
        lambda: retrained(call=lambda model, x: model(x).detach()),
        "the model downstream of '1' cannot be trained, as no gradient comes out of it",
    ),
    "a lazy module": (
        lambda: retrained(nn.Sequential(nn.LazyLinear(8), nn.ReLU(), nn.Linear(8, 2))),
        "'0.weight' has no shape yet, as its module is lazy: run the model on a batch once",
    ),
    "a parameter of whole numbers": (
        lambda: retrained(WholeNumber(), ["net.1"]),
        "parameter 'steps' holds torch.int64, which cannot be trained: make it a buffer",
    ),
    "a batch of one with batch norm": (
        lambda: retrained(normed(), ["0"], recipe=Recipe(batch_size=1)),
        "cannot be trained on a batch of one example",
    ),
    "a scripted module": (
        lambda: retrained(torch.jit.script(net())),
        "the model is a scripted module, which can be neither followed nor copied",
    ),
    "inference mode": (in_inference_mode, "under torch.inference_mode(): call it outside"),
    "a function": (lambda: retrained(lambda x: x), "torch.nn.Module, got function"),
    "a class": (
        lambda: retrained(Two),
        "instance of torch.nn.Module, got the class Two",
    ),
}

CASES = DATA_CASES | MODEL_CASES


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_mistake_is_told_in_one_sentence_before_any_training(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_told(case, monkeypatch)


BOTH = {"left": X, "right": X}

SOUND: Mapping[str, Callable[[], object]] = {
    "a tensor": retrained,
    "test in another order": lambda: two(
        Examples(BOTH, Y), Examples(dict([*BOTH.items()][::-1]), Y)
    ),
    "a tuple": lambda: two(Examples((X, X), Y)),
    "words": lambda: retrained(words(), train=Examples(torch.arange(48).view(24, 2) % 5, Y)),
    "doubles": lambda: retrained(net().double(), train=Examples(X.double(), Y)),
    "bytes": lambda: retrained(
        train=Examples(X.to(torch.uint8), Y), call=lambda model, x: model(x.float() / 255)
    ),
    "an output": lambda: retrained(Named(), ["net.1"], output="scores"),
    "batch norm": lambda: retrained(normed(), ["0"], recipe=Recipe(epochs=1, batch_size=2)),
    "chosen outputs": lambda: retrained(net(outputs=9), classes=range(2)),
    "tasks of tensors": lambda: retrained(tasks=torch.tensor([[0], [1]])),
    "cuts": lambda: of_cuts(net()),
    "fresh": lambda: retrained(fresh=net),
    "a state dict": lambda: retrained(fresh=net().state_dict()),
    "recipe": lambda: retrained(recipe=Recipe(epochs=1, optimizer="sgd", momentum=0.9, warmup=0.9)),
}


@pytest.mark.parametrize("call", SOUND.values(), ids=SOUND)
def test_the_same_calls_without_the_mistake_go_through(call: Callable[[], object]) -> None:
    result = call()
    assert isinstance(result, PartialRetraining)
    assert len(result.counts) == 1


class Fussy(nn.Module):
    """A model that can be followed and not trained: what a step needs is overwritten."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, x: Tensor) -> Tensor:
        h = self.b(self.a(x)).sigmoid()
        return h.mul_(2)


def test_what_stops_the_training_itself_is_told_in_one_sentence() -> None:
    with pytest.raises(InputError, match=r"^[^\n]*'a'[^\n]*modified by an inplace operation") as it:
        retrained(Fussy(), ["a"])
    assert isinstance(it.value.__cause__, RuntimeError)


def test_data_that_ask_for_gradients_get_none() -> None:
    x = X.clone().requires_grad_()
    retrained(train=Examples(x, Y), call=lambda model, x: model(x) + x[:, :2])
    assert x.requires_grad
    assert x.grad is None
