"""Structures of neighbouring projects' reports, each with a value by hand."""

from types import FunctionType, SimpleNamespace

import pytest
import torch
from torch import nn

import probe
from probe.cut.cuts import cut_each
from probe.errors import InputError
from probe.rewinding.attributes import compare_attributes
from probe.seeding import stream


def test_hooks_of_networks_built_twice_are_equal_and_what_they_enclose_counts():
    def hooked(gain):
        net = nn.Linear(2, 2)
        net.register_forward_hook(lambda module, x, y: gain * y)
        return net

    assert compare_attributes(hooked(1.0), hooked(1.0))[1] == []
    assert compare_attributes(hooked(1.0), hooked(2.0))[1] == ["_forward_hooks"]


def test_equal_functions_and_objects_that_hold_the_network_are_equal():
    def helped():
        net = nn.Linear(2, 2)
        net.act = FunctionType(stream.__code__.replace(), {})
        net.helper = SimpleNamespace(network=net)
        return net

    assert compare_attributes(helped(), helped())[1] == []


def test_only_the_outputs_of_a_layer_that_are_read_are_its_feature():
    class Attends(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = nn.MultiheadAttention(4, 2, batch_first=True)
            self.out = nn.Linear(4, 2)

        def forward(self, x):
            return self.out(self.attention(x, x, x)[0].mean(1))

    x = torch.randn(6, 3, 4)
    model = Attends().eval()
    cuts = cut_each(model, ["attention"], x)
    [(_, _, values)] = cuts.feature_values([x])
    [value] = values
    torch.testing.assert_close(value, model.attention(x, x, x)[0])


def test_a_score_of_lists_needs_no_logits_if_blocks_are_patterns():
    class Detector(nn.Module):
        def __init__(self):
            super().__init__()
            self.box = nn.Linear(3, 4)

        def forward(self, images):
            return [{"box": self.box(image)} for image in images]

    def score(model, x, y):
        boxes = torch.stack([result["box"] for result in model(list(x))])
        return -(boxes - y).abs().sum(1)

    before, after = Detector(), Detector()
    x, y = torch.randn(20, 3), torch.randn(20, 4)
    result = probe.diff(before, after, (x, y), score=score, blocks={"box": "box.*"})
    with torch.no_grad():
        lost = (score(before, x, y) - score(after, x, y)).mean().item()
    assert result.answer.lost.value == pytest.approx(lost, abs=1e-5)


def test_a_lazy_network_is_refused_before_it_is_copied():
    x, y = torch.randn(8, 3), torch.arange(8) % 2
    with pytest.raises(InputError, match=r"weight"):
        probe.diff(nn.Linear(3, 2), nn.LazyLinear(2), (x, y))


def test_a_head_that_shrank_and_another_precision_are_refused_with_remedies_that_work():
    def network(outputs):
        return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, outputs))

    before, after = network(5), network(2)
    test = torch.randn(40, 4), torch.arange(40) % 2
    with pytest.raises(InputError, match="keep its first 2 rows in the earlier"):
        probe.diff(before, after, test)
    for name, parameter in before[2].named_parameters():
        setattr(before[2], name, nn.Parameter(parameter.detach()[:2].clone()))
    expected = probe.diff(before, after, test).answer.lost
    halves = [network.bfloat16() for network in (before, after)]
    with pytest.raises(InputError, match=r"such as network\.float\(\)"):
        probe.diff(*halves, test)
    found = probe.diff(*[half.float() for half in halves], test).answer.lost
    assert found.value == pytest.approx(expected.value, abs=0.2)


class Tagger(nn.Module):
    """A network whose two positions have classes of their own, and an unregistered part."""

    def __init__(self, most=10.0):
        super().__init__()
        self.a = nn.Linear(3, 8)
        self.b = nn.Linear(8, 4)
        self.acts = [nn.Hardtanh(-1.0, most)]
        self.register_buffer("mask", torch.tensor([[0.0] * 2 + [-torch.inf] * 2]))

    def forward(self, x):
        scores = self.b(self.acts[0](self.a(x)))
        return scores + torch.cat([self.mask, self.mask.flip(1)])


def test_classes_masked_at_some_positions_are_no_divergence_and_hidden_parts_count():
    x = torch.randn(20, 2, 3)
    y = torch.tensor([[0, 2], [1, 3]]).repeat(10, 1)
    before, after = Tagger(), Tagger()
    blocks = {"a": "a.*", "b": "b.*"}
    table = probe.causes({1: before, 2: after}, [(x, y)] * 2, features=blocks)
    assert table.verdict.notna().all()
    other = Tagger(most=2.5)
    other.load_state_dict(after.state_dict())
    with pytest.warns(UserWarning, match="acts"):
        probe.causes({1: before, 2: other}, [(x, y)] * 2, features=blocks)
