"""Cuts are made once for an architecture, and used again for its other weights."""

import copy
import pickle
from dataclasses import replace
from types import MethodType

import pytest
import torch
from torch import nn
from torchvision.models.feature_extraction import create_feature_extractor

from probe.cut.cuts import Cuts, cut_each, split
from probe.cut.plan import plan_each
from probe.examples import Examples
from probe.modules import architecture, architecture_difference
from probe.retrain import partial_retrain
from probe.seeding import stream
from probe.training.recipe import Recipe
from scenarios.networks import reduced_resnet18
from tests.laws.zoo.written import Written
from tests.probe.record.tiny import same_state

FEATURES = [
    "stem",
    "layer1",
    "layer2.0.conv1",
    "layer3",
    "output",
]
TASKS = [[0, 1], [2]]


def network(seed):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = reduced_resnet18((3, 25, 25), 3, base=4)
        with torch.no_grad():
            model(torch.randn(32, 3, 25, 25))  # statistics of its own
    return model


@pytest.mark.slow
def test_cuts_used_again_are_those_made_anew():
    y = torch.arange(48) % 3
    recipe = Recipe(epochs=1, batch_size=8)
    data = Examples(
        torch.randn(
            48,
            3,
            25,
            25,
            generator=stream(0, "x"),
        )
        + y[:, None, None, None],
        y,
    )
    cuts = cut_each(network(0), FEATURES, data.x[:8])
    others = []
    for seed in (0, 1):
        model = network(seed)
        before = copy.deepcopy(model.state_dict())
        again = partial_retrain(
            model,
            cuts,
            data,
            data,
            TASKS,
            recipe,
        )
        anew = partial_retrain(
            model,
            FEATURES,
            data,
            data,
            TASKS,
            recipe,
        )
        assert [c.table.tolist() for c in again.counts.values()] == [
            c.table.tolist() for c in anew.counts.values()
        ]
        assert same_state(before, model.state_dict())
        others.append(again.pra)
    assert others[0] != others[1]


def hidden(sign):
    """Make a network that depends on a number that no state holds."""
    layers = {"a": (4, 4), "b": (4, 3)}
    return Written(
        lambda m, x: m.b(torch.relu(m.a(x)) if sign > 0 else -m.a(x)), layers
    )


def test_they_are_planned_again_only_where_the_parts_do_not_give_the_output(
    monkeypatch,
):
    x = torch.randn(8, 4, generator=stream(0))
    cuts = cut_each(hidden(1), ["a"], x)
    planned = []

    def counted(features):
        planned.append(len(features))
        return plan_each(features)

    monkeypatch.setattr("probe.cut.planned_cut.plan_each", counted)
    for model, times in ((hidden(1), 0), (hidden(-1), 1)):
        planned.clear()
        split = cuts.of(model).each[0].split()
        assert len(planned) == times
        with torch.no_grad():
            assert torch.equal(split.tail.eval()(split.prefix(x)), model.eval()(x))


def test_current_cuts_are_not_made_again():
    model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))
    x = torch.randn(8, 4)
    cuts = cut_each(copy.deepcopy(model), ["0", "1"], x).of(model)
    assert cuts.of(model) is not cuts
    current = replace(cuts, current=True).at(["1"])
    assert current.of(model) is current
    assert current.features == ("1",)


def test_a_chain_with_a_forward_of_its_own_is_not_run_link_by_link():
    def shifted(module, x):
        return type(module).forward(module, x) + 5  # type: ignore[no-any-return, no-untyped-call]

    inner = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    vars(inner)["forward"] = MethodType(shifted, inner)
    model = nn.Sequential(inner, nn.Linear(4, 2))
    x = torch.randn(8, 4)
    [(_, _, value)] = cut_each(model, ["0"], x).values([x])
    assert torch.equal(value, inner(x))


@pytest.mark.parametrize("inference", [False, True])
def test_the_values_of_a_chain_are_those_of_the_whole_model_bit_for_bit(inference):
    """Also where a link writes into its input, and the values can be trained on afterwards."""
    stages = [
        nn.Conv2d(1, 3, 3),
        nn.ReLU(inplace=True),
        nn.BatchNorm2d(3),
    ]
    model = nn.Sequential(nn.Sequential(*stages), nn.Flatten(), nn.Linear(12, 2)).eval()
    cuts = cut_each(
        model,
        ["0.0", "0", "1"],
        torch.randn(4, 1, 4, 4),
    )
    x = torch.randn(9, 1, 4, 4)
    kept = x.clone()
    whole = Cuts(tuple(replace(cut, chain=None) for cut in cuts._planned))
    with torch.inference_mode(inference):
        along, followed = (
            {name: v for _, name, v in c.values([x])} for c in (cuts, whole)
        )
    assert torch.equal(x, kept)
    for name, value in along.items():
        assert torch.equal(value, followed[name])
        model[2](value.flatten(1)).sum().backward()


def test_the_facts_of_a_cut_pickle():
    x = torch.randn(
        4,
        3,
        32,
        32,
        generator=stream(0, "x"),
    )
    for cut in cut_each(
        reduced_resnet18((3, 32, 32), 10).eval(), ["layer1", "layer4"], x
    ).each:
        again = pickle.loads(pickle.dumps(cut.facts))
        assert replace(again, inputs=()) == replace(cut.facts, inputs=())


def closing_over(factor):
    passes = 0

    class Local(nn.Linear):
        def forward(self, x):
            nonlocal passes
            passes += 1
            return factor * super().forward(x)

    return Local(2, 2)


def counting_on_the_class(factor):
    class Local(nn.Linear):
        passes = 0
        scale = factor

        def forward(self, x):
            type(self).passes += 1
            return self.scale * super().forward(x)

    return Local(2, 2)


def inheriting(factor):
    class Inner(type(closing_over(factor))):  # type: ignore[misc]
        pass

    return Inner(2, 2)


def with_static_method(factor):
    class Local(nn.Linear):
        scaled = staticmethod(lambda x: factor * x)

        def forward(self, x):
            return self.scaled(super().forward(x))

    return Local(2, 2)


def with_property(factor):
    class Local(nn.Linear):
        scale = property(lambda self: factor)

        def forward(self, x):
            return self.scale * super().forward(x)

    return Local(2, 2)


def loaded_again(factor):
    """Load a file that has the factor as a global variable."""
    source = (
        "class Net(Linear):\n    def forward(self, x):\n        return factor * super()"
        ".forward(x)\n"
    )
    variables = {"Linear": nn.Linear, "factor": factor, "__name__": "loaded"}
    exec(source, variables)
    return variables["Net"](2, 2)


def traced(factor):
    """Trace a network that runs another graph in training mode."""
    dropout = nn.Sequential(nn.Linear(2, 2), nn.Dropout())
    model = Written(
        lambda m, x: factor * nn.functional.dropout(m.a(x), training=m.training),
        {"a": lambda: dropout},
    )
    return create_feature_extractor(model, ["mul"])


@pytest.mark.parametrize(
    "build",
    [
        closing_over,
        counting_on_the_class,
        inheriting,
        with_static_method,
        with_property,
        loaded_again,
        traced,
    ],
)
def test_classes_that_are_made_anew_are_compared_by_what_they_compute(build):
    first = build(2.0)
    first.eval()(torch.zeros(1, 2))
    expected = architecture(first)
    assert architecture_difference(expected, architecture(build(2.0))) == ""
    assert architecture_difference(expected, architecture(build(3.0))) == "its class"


def test_a_module_named_as_a_call_is_found_by_its_own_name():
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    model.register_module("1#1", nn.Tanh())
    model.register_module("2", nn.Linear(4, 3))
    x = torch.randn(5, 4)
    assert torch.equal(split(model, "1#1", x).prefix(x), model[:3](x))


class SizedByInputs(nn.Module):
    """A buffer that is not saved and gets its size when the network first runs."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 3)
        self.head = nn.Linear(3, 2)
        self.register_buffer("where", torch.zeros(1), persistent=False)

    def forward(self, x):
        if len(self.where) != x.shape[1]:
            self.where = torch.arange(x.shape[1]).float()
        return self.head(self.body(x + self.where))


def test_a_network_that_never_ran_is_cut_as_one_that_has():
    ran = SizedByInputs()
    x = torch.randn(8, 4)
    ran(x)
    value = dict(cut_each(ran, ["body"], x).of(SizedByInputs()).named_values(x))
    assert architecture(ran) == architecture(SizedByInputs())
    assert next(iter(value.values())).shape == (8, 3)
