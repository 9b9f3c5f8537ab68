"""The parameters that are trained downstream of a feature, and their fresh values."""

import pytest
import torch
from torch import nn

from probe import Examples, Model, Recipe, analyze, partial_retrain, predictions
from probe.cut.cuts import cut_each, split
from probe.errors import InputError
from probe.modules import named_state
from probe.seeding import stream
from probe.training.fresh_weights import fresh_state
from probe.training.loop import fit
from tests.laws.zoo.specimens import SPECIMENS, specimen
from tests.probe.calls import Scaled


@pytest.mark.parametrize(
    ("name", "feature"),
    [("reduced_resnet18", "layer3"), ("tied_weights", "encode"), ("mlp", "output")],
)
def test_a_tail_takes_a_new_models_values_and_keeps_what_is_frozen(name, feature):
    """Buffers too; a layer that the prefix needs stays as it is under its other name as well."""
    model, x, _ = specimen(name)
    before = {name: tensor.clone() for name, tensor in named_state(model).items()}
    cut = split(model, feature, x)
    cut.reinitialize(SPECIMENS[name].build, stream(3, "tail"))
    built = fresh_state(SPECIMENS[name].build, stream(3, "tail"))
    assert cut.fresh_values.keys().isdisjoint(cut.frozen)
    assert all(
        torch.equal(value, built[name]) for name, value in cut.fresh_values.items()
    )
    kept = {
        name.removeprefix("model."): value
        for name, value in named_state(cut.tail).items()
    }
    assert all(
        torch.equal(kept[name], before[name]) for name in kept.keys() & set(cut.frozen)
    )
    assert all(map(torch.equal, named_state(model).values(), before.values()))


@pytest.mark.parametrize(
    "form", [lambda model: model, nn.Module.state_dict], ids=["model", "state"]
)
def test_a_checkpoint_is_rewound_to_bit_for_bit(form):
    model, x, _ = specimen("reduced_resnet18")
    checkpoint = SPECIMENS["reduced_resnet18"].build()
    cut = split(model, "layer3", x)
    cut.reinitialize(form(checkpoint), stream(0))
    expected = named_state(checkpoint)
    assert all(
        torch.equal(value, expected[name]) for name, value in cut.fresh_values.items()
    )
    assert len(cut.fresh_values) > 2


def test_what_no_rule_writes_is_refused_before_any_cut_and_all_of_it_named(
    monkeypatch,
):
    """Not what every feature needs, nor what nothing reads, nor what stays frozen as given."""
    model = nn.Sequential(
        Scaled(), nn.Linear(4, 4), Scaled(), nn.Linear(4, 4), Scaled()
    )
    model.register_parameter("unread", nn.Parameter(torch.ones(3)))
    data = Examples(
        torch.randn(40, 4, generator=stream(0, "x")),
        torch.arange(40) % 4,
    )
    asked = (["0", "1"], data, data, [[0, 1], [2, 3]], Recipe(epochs=1))
    with monkeypatch.context() as patch:
        patch.setattr(
            "probe.retrain.cut_found", lambda *_: pytest.fail("a cut was made")
        )
        with pytest.raises(InputError, match=r"'2\.scale', '4\.scale'"):
            partial_retrain(model, *asked)
    for scaled in (model[2], model[4]):
        scaled.requires_grad_(False)
    partial_retrain(Model(model, trainable="as given"), *asked)


TASKS = [[0, 1], [2, 3]]
RECIPE = Recipe(epochs=2, batch_size=8, learning_rate=0.05)
DATA = Examples(
    torch.randn(40, 8, generator=stream(0, "x")),
    torch.arange(40) % 4,
)


class Adapted(nn.Module):
    """A dense layer with a low-rank adapter: what LoRA makes of it."""

    def __init__(self, width):
        super().__init__()
        self.base = nn.Linear(8, width)
        self.down, self.up = (
            nn.Linear(8, 2, bias=False),
            nn.Linear(2, width, bias=False),
        )

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


def lora():
    """Two adapted layers with a norm in between; their bases and the norm are frozen."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(
            Adapted(8),
            nn.ReLU(),
            nn.BatchNorm1d(8),
            Adapted(4),
        )
        model(DATA.x)
    for part in (model[0].base, model[2], model[3].base):
        part.requires_grad_(False)
    return model


def test_what_was_frozen_stays_as_it_is():
    """In its values and without gradients; the adapters are trained anew."""
    model = lora()
    cut = cut_each(model, ["0"], DATA.x, trainable="as given").each[0].split()
    cut.reinitialize("torch", stream(0))
    fit(
        cut.tail,
        Examples(cut.prefix(DATA.x), DATA.y),
        RECIPE,
        stream(0),
    )
    own, adapters = model.state_dict(), {"3.up.weight", "3.down.weight"}
    assert {
        name for name, value in cut.fresh_values.items() if value.grad is not None
    } == adapters
    assert all(not torch.equal(cut.fresh_values[name], own[name]) for name in adapters)
    [(_, base)] = [
        pair for pair in cut.tail.named_parameters() if "base.weight" in pair[0]
    ]
    assert torch.equal(base, own["3.base.weight"])
    assert base.grad is None


def large_head(outputs):
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return nn.Sequential(
            nn.Linear(8, 16),
            nn.ReLU(),
            nn.Linear(16, outputs),
        )


@pytest.mark.parametrize("chosen", [range(4), [90, 17, 40, 99]])
def test_a_large_head_read_at_some_outputs_is_the_head_of_these_alone(chosen):
    """Rewound to the same values, so that both train the same weights."""
    large, small = large_head(100), large_head(4)
    with torch.no_grad():
        for name in ("weight", "bias"):
            getattr(small[2], name).copy_(getattr(large[2], name)[list(chosen)])
        small[0].load_state_dict(large[0].state_dict())
    read, alone = (
        partial_retrain(
            Model(net, fresh=net, classes=of), ["1", "2"], DATA, DATA, TASKS, RECIPE
        )
        for net, of in ((large, chosen), (small, None))
    )
    assert read.counts == alone.counts


@pytest.mark.parametrize("init", ["torch", "murata"])
def test_analyze_and_partial_retrain_start_from_the_same_values(init):
    """A function gives way to the recipe's rule, if that is not torch's."""

    def build():
        net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
        nn.init.constant_(net[1].bias, 9.0)
        return net

    data = torch.randn(40, 4), torch.arange(40) % 2
    recipe = Recipe(init=init, epochs=1, batch_size=40, learning_rate=1e-12)
    net, tasks = build(), [[0], [1]]
    one = partial_retrain(Model(net, fresh=build), ["0"], data, data, tasks, recipe)
    all_of = analyze(
        Model({2: net}, fresh=build), data, data, tasks, ["0"],
        readouts=["retrain"], recipe=recipe,
    )  # fmt: skip
    frame = predictions(all_of)
    frame = frame[(frame["readout"] == "retrain") & (frame["tasks_seen"] == 2)]
    assert frame["predicted"].tolist() == one.measured["0"].predicted.tolist()
