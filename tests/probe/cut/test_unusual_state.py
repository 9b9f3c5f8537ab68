"""Parameters and buffers that are complex, sparse or of a class of their own."""

import copy

import pytest
import torch
from torch import Tensor, nn
from torch.nn.attention.flex_attention import flex_attention

from probe.cut.cuts import split
from probe.errors import InputError
from probe.examples import Examples
from probe.training.loop import fit
from probe.training.recipe import Recipe
from tests.laws.reference import train
from tests.laws.zoo.written import Written


class Marked(Tensor):
    """A tensor of a class that torch does not copy."""


def _complex(m, x):
    return m.c(m.b((m.a(x).to(torch.complex64) @ m.w).abs()))


def _sparse(m, x):
    return m.c(torch.tanh(m.b(torch.sparse.mm(m.w, m.a(x).T).T)))


def _marked(m, x):
    return m.c(torch.tanh(m.b(m.a(x) @ m.w)))


UNUSUAL = {
    "complex": (
        _complex,
        lambda: nn.Parameter(torch.randn(6, 6, dtype=torch.complex64)),
    ),
    "sparse": (_sparse, lambda: torch.randn(6, 6).relu().to_sparse()),
    "subclass": (_marked, lambda: nn.Parameter(torch.randn(6, 6).as_subclass(Marked))),
}


@pytest.mark.parametrize("kind", UNUSUAL)
def test_unusual_state_is_frozen_and_cut(kind):
    run, w = UNUSUAL[kind]
    torch.manual_seed(0)
    model = Written(
        run,
        {
            "a": (6, 6),
            "w": w,
            "b": (6, 6),
            "c": (6, 3),
        },
    )
    x = torch.randn(8, 6)
    cuts = {feature: split(model, feature, x) for feature in "ab"}
    for cut in cuts.values():
        assert cut.cached
        assert torch.equal(cut.tail.eval()(cut.prefix(x)), model.eval()(x))
    assert ["w" in cut.frozen for cut in cuts.values()] == [False, True]


@pytest.mark.parametrize(
    "into",
    [
        "input",
        "output",
    ],
)
def test_an_output_made_out_of_torchs_sight_is_refused(into):
    """A class of tensors as input is as good as plain tensors."""

    def forward(m, x):
        logits = m.b(m.a(x))
        return logits if into == "input" else logits.as_subclass(Marked)

    model = Written(
        forward,
        {
            "a": (6, 6),
            "b": (6, 3),
        },
    )
    x = torch.randn(8, 6).as_subclass(Marked)
    if into == "output":
        with pytest.raises(InputError, match="as_subclass"):
            split(model, "a", x)
    else:
        cut = split(model, "a", x)
        assert cut.cached
        assert torch.equal(cut.tail.eval()(cut.prefix(x)), model.eval()(x))


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_complex_weights_are_trained_as_by_torchs_own_optimizer(optimizer):
    torch.manual_seed(0)
    run, w = UNUSUAL["complex"]
    ours = Written(
        run,
        {
            "a": (6, 6),
            "w": w,
            "b": (6, 6),
            "c": (6, 3),
        },
    )
    theirs = copy.deepcopy(ours)
    x = torch.randn(8, 6)
    y = torch.arange(8) % 3
    recipe = Recipe(
        epochs=3,
        batch_size=8,
        optimizer=optimizer,
    )
    fit(
        ours,
        Examples(x, y),
        recipe,
        torch.Generator(),
    )
    train(
        theirs,
        x,
        y,
        recipe,
        torch.Generator(),
    )
    for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_sparse_gradients_train_as_dense_ones_do(optimizer):
    recipe = Recipe(
        epochs=2,
        batch_size=4,
        optimizer=optimizer,
        clip_norm=1.0,
    )
    data = Examples(torch.arange(24).view(8, 3) % 10, torch.arange(8) % 3)
    trained = []
    for sparse in (False, True):
        torch.manual_seed(0)
        bag = nn.Sequential(
            nn.Embedding(10, 6, sparse=sparse), nn.Flatten(), nn.Linear(18, 3)
        )
        assert split(bag, "2", data.x).cached
        fit(
            bag,
            data,
            recipe,
            torch.Generator().manual_seed(0),
        )
        trained.append(bag[0].weight)
    assert torch.equal(*trained)


def test_a_sparse_gradient_is_compared_with_the_whole_models():
    def run(m, x):
        return m.c(torch.tanh(m.a(x)) + m.words((x[:, :2] * 3).long() % 10).mean(1))

    words = lambda: nn.Embedding(10, 6, sparse=True)  # noqa: E731
    model = Written(
        run,
        {
            "a": (6, 6),
            "words": words,
            "c": (6, 3),
        },
    )
    x = torch.randn(8, 6)
    assert split(model, "a", x).slow == ""


def test_flex_attention_is_followed():
    """On a CPU it has no backward pass: what is upstream of it cannot be trained there."""

    def run(m, x):
        h = m.a(x)[:, None, :, None].expand(-1, -1, -1, 4)
        return m.c(torch.tanh(m.b(flex_attention(h, h, h)[:, 0, :, 0])))

    torch.manual_seed(0)
    model = Written(
        run,
        {
            "a": (6, 6),
            "b": (6, 6),
            "c": (6, 3),
        },
    )
    x = torch.randn(8, 6)
    cut = split(model, "b", x)
    assert cut.frozen == ("a.bias", "a.weight", "b.bias", "b.weight")
    assert "transform of torch.func" in cut.slow
    with torch.no_grad():
        assert torch.equal(cut.tail.eval()(cut.prefix(x)), model.eval()(x))


class Codebook(nn.Module):
    """The nearest of four codes, drawn from the first batch that comes, also in eval mode."""

    def __init__(self):
        super().__init__()
        self.register_buffer("codes", torch.zeros(4, 6))
        self.register_buffer("drawn", torch.tensor(False))

    def forward(self, h):
        if not self.drawn:
            self.codes.copy_(h.detach()[torch.randint(len(h), (4,))])
            self.drawn.fill_(True)
        return h + (self.codes[torch.cdist(h, self.codes).argmin(1)] - h).detach()


def test_a_codebook_of_the_first_batch_is_cut_rightly_once_it_is_there():
    """As of k-means in vector quantization: before, two batches give two models."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 6), Codebook(), nn.Linear(6, 3))
    x = torch.randn(16, 6)
    with pytest.raises(InputError, match="drawn at random in eval mode too"):
        split(model.eval(), "1", x)
    model(x)
    for feature in "01":
        cut = split(model, feature, x)
        assert torch.equal(cut.tail.eval()(cut.prefix(x)), model(x))
