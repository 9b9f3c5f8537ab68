"""fp32 means fp32: products are not rounded to TF32 unless asked for, wherever a network runs."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from probe.examples import Examples
from probe.seeding import stream
from probe.training.loop import fit
from probe.training.recipe import Recipe
from tests.laws.counting import evaluate

Setting = tuple[object, ...]
DATA = Examples(torch.randn(12, 4, generator=stream(0, "x")), torch.arange(12) % 3)
PER_KIND = hasattr(torch.backends.cuda.matmul, "fp32_precision")


def setting():
    """What torch would round to now: products, convolutions and recurrent layers of a GPU."""
    backends = torch.backends
    if not PER_KIND:
        return torch.get_float32_matmul_precision(), backends.cudnn.allow_tf32
    cudnn, mkldnn = backends.cudnn, backends.mkldnn
    kinds = (
        backends.cuda.matmul,
        cudnn.conv,
        cudnn.rnn,
        mkldnn.matmul,
        mkldnn.conv,
        mkldnn.rnn,
    )
    return tuple(kind.fp32_precision for kind in kinds)


EXACT = ("ieee",) * 6 if PER_KIND else ("highest", False)
ROUNDED = (*("tf32",) * 3, *("ieee",) * 3) if PER_KIND else ("high", True)


@pytest.fixture(autouse=True)
def outside():
    """Rounding as the user may have set it; it must be so again afterwards."""
    before = torch.get_float32_matmul_precision()
    convolutions = torch.backends.cudnn.allow_tf32
    torch.set_float32_matmul_precision("medium")
    torch.backends.cudnn.allow_tf32 = True
    there = setting()
    assert there not in (EXACT, ROUNDED) or not PER_KIND
    yield
    assert setting() == there
    torch.set_float32_matmul_precision(before)
    torch.backends.cudnn.allow_tf32 = convolutions


class Sees(nn.Module):
    """Notes the setting in every forward and backward pass."""

    def __init__(self, width=4):
        super().__init__()
        self.first = nn.Linear(width, 5)
        self.last = nn.Linear(5, 3)
        self.seen = set()

    def forward(self, x):
        self.seen.add(setting())
        hidden = self.first(x.flatten(1))
        if hidden.requires_grad:
            hidden.register_hook(lambda gradient: self.seen.add(setting()))
        return self.last(torch.relu(hidden))


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        ("fp32", EXACT),
        ("bf16", EXACT),
        ("tf32", ROUNDED),
    ],
)
def test_a_training_rounds_where_its_recipe_says_so(of, expected):
    model = Sees()
    fit(model, DATA, Recipe(epochs=1, batch_size=4, precision=of), stream(0))
    assert model.seen == {expected}


def test_an_evaluation_is_in_fp32_also_under_autocast():
    """bf16 cannot tell 1 from 1.001, so that the first of two such logits would win."""
    data = Examples(torch.tensor([[1.0, 1.001]] * 4), torch.ones(4).long())
    with torch.autocast("cpu"):
        assert evaluate(lambda x: x @ torch.eye(2), data, 2).accuracy() == 1


@pytest.mark.parametrize(
    ("precision", "dtype"), [("fp32", "float32"), ("bf16", "bfloat16")]
)
def test_products_are_in_the_precision_and_weights_in_fp32(precision, dtype):
    model = nn.Linear(4, 3)
    seen = set[torch.dtype]()
    model.register_forward_hook(lambda *given: seen.add(given[-1].dtype))
    fit(model, DATA, Recipe(epochs=1, precision=precision), stream(0))
    assert seen == {getattr(torch, dtype)}
    assert {p.dtype for p in model.parameters()} == {torch.float32}


def test_each_step_in_bf16_sees_the_weights_of_the_step_before():
    """As in a plain loop with an autocast per step, up to the order of examples; under another."""
    losses = {}
    for caller in ("plain", "ours", "ours under autocast"):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        if caller == "plain":
            optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
            for _ in range(20):
                with torch.autocast("cpu", torch.bfloat16):
                    loss = nn.functional.cross_entropy(model(DATA.x), DATA.y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        else:
            recipe = Recipe(
                epochs=20,
                batch_size=len(DATA),
                optimizer="sgd",
                learning_rate=0.5,
            )
            with torch.autocast("cpu", enabled=caller != "ours"):
                fit(model, DATA, replace(recipe, precision="bf16"), stream(0))
        losses[caller] = nn.functional.cross_entropy(model(DATA.x), DATA.y).item()
    assert losses["ours"] == losses["ours under autocast"]
    assert losses["ours"] == pytest.approx(losses["plain"], rel=0.02)
