"""The features that a model offers, against plain hooks, autograd and the cuts themselves."""

from collections import Counter, OrderedDict
from functools import partial

import pytest
import torch
from torch import nn
from torchvision.models import VisionTransformer
from torchvision.models.vgg import make_layers

from probe.cut.candidates import candidates, suggestions
from probe.cut.cuts import split
from probe.cut.model_call import ModelCall, tensors_of
from probe.errors import InputError
from probe.modules import tap
from probe.seeding import global_stream, stream
from scenarios.networks import ARCHITECTURES
from tests.laws.zoo.specimens import SPECIMENS, specimen
from tests.laws.zoo.written import Written

SMALL = [name for name in SPECIMENS if name != "reduced_resnet18"]


def runs(model, x):
    """Run a model in eval mode; return its modules' outputs as they finish, and its own."""
    seen = []
    names = [name for name, _ in model.named_modules() if name]
    with tap(model.eval(), names, lambda name, output: seen.append((name, output))):
        output = model(x)
    times = Counter(name for name, _ in seen)
    before = Counter()
    found = []
    for name, value in seen:
        before[name] += 1
        found.append((f"{name}#{before[name]}" if times[name] > 1 else name, value))
    return found, output


def feeding(model, value):
    """The parameters that a value's gradient reaches."""
    names, parameters = zip(*model.named_parameters(), strict=True)
    grads = torch.autograd.grad(
        value.sum(),
        parameters,
        allow_unused=True,
        retain_graph=True,
    )
    return {name for name, grad in zip(names, grads, strict=True) if grad is not None}


def elements(model, names):
    return sum(model.get_parameter(name).numel() for name in names)


def chosen(model, *shape):
    found = candidates(model, torch.randn(3, *shape, generator=stream(0)))
    return [one.feature for one in found if one.suggested]


@pytest.mark.parametrize("name", SMALL)
def test_order_shapes_and_parameters_are_those_of_hooks_and_autograd(name):
    model, x, _ = specimen(name)
    expected, output = runs(model, x[:4])
    behind_output = feeding(model, output)
    found = candidates(model, x[:4])
    assert [one.feature for one in found] == [feature for feature, _ in expected]
    for one, (_, value) in zip(found, expected, strict=True):
        frozen = feeding(model, value) if value.requires_grad else set()
        assert one.shape == tuple(value.shape[1:])
        assert one.frozen == elements(model, frozen)
        assert one.left == elements(model, behind_output - frozen)
    suggested = {one.feature: bool(one.left) for one in found if one.suggested}
    assert suggestions(model, x[:4], ModelCall()) == suggested


@pytest.mark.parametrize("name", SMALL)
def test_what_is_cached_is_what_the_cut_gives(name):
    model, x, _ = specimen(name)
    cached = 0
    for one in candidates(model, x[:4]):
        try:
            cut = split(model, one.feature, x[:8])
        except InputError:
            assert one.slow
            continue
        assert bool(one.slow) == bool(cut.slow)
        if cut.cached:
            parts = tensors_of(cut.prefix(x))
            kept = [part[0] for part in parts if not torch.equal(part, x)]
            assert one.bytes == sum(row.numel() * row.element_size() for row in kept)
            cached += 1
    assert cached


def vgg():
    features = make_layers([4, "M", 8, 8, "M"], batch_norm=True)
    classifier = nn.Sequential(nn.Flatten(), nn.Linear(512, 5), nn.Dropout())
    return nn.Sequential(OrderedDict(features=features, classifier=classifier))


_BLOCKS = {
    "vgg": (vgg, "features.3 features.6 features.10 classifier"),
    "vit": (
        partial(
            VisionTransformer,
            32,
            16,
            3,
            2,
            8,
            16,
            num_classes=5,
        ),
        "conv_proj encoder.layers.encoder_layer_0 encoder.layers.encoder_layer_1 "
        "encoder.layers.encoder_layer_2 heads",
    ),
    **{
        name: (partial(own.build, (3, 32, 32), 5), " ".join(own.features))
        for name, own in ARCHITECTURES.items()
    },
}


@pytest.mark.parametrize("name", _BLOCKS)
def test_block_ends_and_our_networks_features_are_suggested(name):
    build, features = _BLOCKS[name]
    with global_stream(stream(0)):
        model = build()
    assert chosen(model, 3, 32, 32) == features.split()


def test_no_feature_is_suggested_inside_a_block_or_after_dropout_or_a_reshape():
    def block():
        return Written(
            lambda m, x: x + m.b(torch.relu(m.a(x))), {"a": (8, 8), "b": (8, 8)}
        )

    stem = [
        nn.Linear(6, 8),
        nn.ReLU(),
        nn.Dropout(),
        nn.Flatten(),
    ]
    model = nn.Sequential(
        *stem,
        block(),
        block(),
        nn.Linear(8, 3),
        nn.Softmax(1),
    )
    assert chosen(model, 6) == ["1", "4", "5", "7"]
    # One level deeper there are no more.
    assert chosen(nn.Sequential(*stem[:2], block(), nn.Linear(8, 3)), 6) == [
        "1",
        "2",
        "3",
    ]


def test_of_a_deep_network_a_few_are_suggested_the_last_among_them():
    names = chosen(nn.Sequential(*(nn.Linear(4, 4) for _ in range(45))), 4)
    assert len(names) <= 20
    assert names[-1] == "44"


class Numbered(nn.Module):
    """Values with their positions, as whole numbers."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 5)

    def forward(self, x):
        return self.inner(x), torch.arange(5).expand(len(x), 5) * (x[:, :1] > 0)


class Aside(nn.Module):
    """A branch that the logits never use, and a number that only the inputs decide."""

    def __init__(self):
        super().__init__()
        self.first = Numbered()
        self.aside = nn.Linear(5, 6)
        self.second = nn.Linear(5, 7)
        self.head = nn.Linear(7, 3)

    def forward(self, x):
        values, _ = self.first(x)
        self.cache = self.aside(values)[:, 1:]
        if bool((x.abs() > 100).any()):
            values = -values
        return self.head(torch.relu(self.second(values)))


def test_whole_numbers_are_no_values_and_a_dead_branch_is_not_suggested():
    found = {c.feature: c for c in candidates(Aside(), torch.randn(9, 4))}
    assert found["first"].tensors == 1
    assert [name for name, c in found.items() if c.suggested] == ["first", "head"]


class Masked(nn.Module):
    """A transformer encoder that pads, which by its fast path nests its layers' values."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(9, 8)
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        """Return the scores of texts, in which 0 is padding."""
        is_padded = x == 0
        value = self.layers(self.words(x), src_key_padding_mask=is_padded)
        return self.head(value.masked_fill(is_padded[..., None], 0).sum(1))


def test_layers_of_a_padding_encoder_are_suggested_and_cut():
    x = torch.randint(1, 9, (8, 5), generator=stream(0, "texts"))
    x[:4, 3:] = 0
    model = Masked().eval()
    suggested = [c.feature for c in candidates(model, x) if c.suggested]
    assert suggested == ["words", "layers.layers.0", "layers.layers.1", "head"]
    for feature in suggested:
        part = split(model, feature, x)
        with torch.no_grad():
            logits = part.tail.eval()(part.prefix(x))
            torch.testing.assert_close(logits, model(x))
