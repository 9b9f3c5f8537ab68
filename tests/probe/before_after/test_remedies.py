"""Remedies against plain torch, and the choice among many."""

import sys
from copy import deepcopy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

import probe
from probe.before_after.data import halves, stored
from probe.before_after.fitting import averaged, best_bias, with_fresh_values
from probe.before_after.ranking import front, interval, measure
from probe.before_after.remedies import AS_IT_IS, Remedy
from probe.modules import eval_with_gradients
from probe.seeding import stream
from tests.probe.before_after.conftest import (
    NEW,
    OLD,
    STORED,
    compared_in_short,
    trained,
)


@pytest.fixture(scope="module")
def table(full):
    return full.remedies.set_index("remedy")


SIZES = [len(OLD[1]), len(NEW[1])]
CHOSEN_ON = halves(SIZES, 0)
REPORTED = [
    ~CHOSEN_ON[: SIZES[0]],
    ~CHOSEN_ON[SIZES[0] :],
]
HALF = [
    (x[torch.tensor(~rows)], y[torch.tensor(~rows)])
    for (x, y), rows in zip((OLD, NEW), REPORTED, strict=True)
]


def right(network, change=lambda logits: logits):
    """Return the accuracies on the old and new examples that chose nothing."""
    with torch.no_grad():
        hits = [(change(network(x)).argmax(1) == y).numpy() for x, y in (OLD, NEW)]
    return [hit[rows].mean() for hit, rows in zip(hits, REPORTED, strict=True)]


def check(table, remedy, expected):
    assert table.loc[remedy, ["old", "new"]].tolist() == pytest.approx(
        expected, abs=1e-12
    )


def test_averages(before, after, table):
    for share, weight in {"1/4": 0.25, "1/2": 0.5, "3/4": 0.75}.items():
        network = deepcopy(after)
        partly = deepcopy(after)
        for name, tensor in before.state_dict().items():
            mean = weight * tensor + (1 - weight) * after.state_dict()[name]
            network.state_dict()[name].copy_(mean)
            if name.startswith("1."):
                partly.state_dict()[name].copy_(mean)
        check(table, f"{share} of before, averaged", right(network))
        check(table, f"{share} of before in 1, averaged", right(partly))


def test_every_tested_set_of_blocks_is_put_back(before, after, table):
    network = deepcopy(after)
    for name in ("0", "6"):
        network.get_submodule(name).load_state_dict(
            before.get_submodule(name).state_dict()
        )
    check(table, "0, output put back", right(network))
    assert (table["kind"] == "put back").sum() == 2**4 - 2 + 1
    network = deepcopy(after)
    for name, buffer in before.named_buffers():
        network.get_buffer(name).copy_(buffer)
    check(table, "norm statistics put back", right(network))


def test_statistics_are_estimated_on_the_other_half(after, table):
    network = deepcopy(after)
    norms = [
        module for module in network.modules() if isinstance(module, nn.BatchNorm2d)
    ]
    x = torch.cat([x for x, _ in HALF])
    order = torch.randperm(
        len(x),
        generator=stream(0, "batch norm"),
    )
    for norm in norms:
        norm.reset_running_stats()
        norm.train()
    for count, rows in enumerate(order.tensor_split(len(x) // 256), 1):
        for norm in norms:
            norm.momentum = 1 / count
        network(x[rows])
    check(table, "norm statistics estimated again", right(network.eval()))


def test_outputs_are_renamed_by_the_other_half(after, table):
    x, y = (torch.cat(column) for column in zip(*HALF, strict=True))
    logits = after(x).detach()
    counts = np.zeros((10, 10))
    np.add.at(
        counts,
        (y.numpy(), logits.argmax(1).numpy()),
        1,
    )
    # With as little to gain as here, no two classes change places.
    assert (counts.argmax(1) == np.arange(10)).all()
    check(table, "outputs renamed", right(after))


def test_old_and_new_examples_weigh_the_same_together(before, after):
    few = (NEW[0][:60], NEW[1][:60])
    sizes = [len(OLD[1]), 60]
    chosen_on = halves(sizes, 0)
    x = torch.cat([OLD[0], few[0]])
    y = torch.cat([OLD[1], few[1]])
    weights = np.repeat(1 / np.array(sizes), sizes)
    weights = torch.tensor(weights)[chosen_on]
    with torch.no_grad():
        logits = after(x)
    bias = best_bias(logits[chosen_on], y[chosen_on], weights)
    hits = ((logits + bias).argmax(1) == y).numpy()[~chosen_on]
    table = probe.diff(before, after, OLD, few).remedies.set_index("remedy")
    expected = [
        hits[:250].mean(),
        hits[250:].mean(),
    ]
    check(table, "a bias for each class", expected)


def test_a_bias_for_each_class_by_gradient_descent(after, table):
    x, y = (torch.cat(column) for column in zip(*HALF, strict=True))
    logits = after(x).detach().double()
    bias = torch.zeros(10, dtype=torch.float64, requires_grad=True)
    parts = [torch.full((len(b),), 0.5 / len(b)) for _, b in HALF]
    weights = torch.cat(parts)
    for _ in range(4000):
        loss = (
            cross_entropy(
                logits + bias,
                y,
                reduction="none",
            )
            * weights
        ).sum()
        (loss + bias.square().sum() / len(y)).backward()
        with torch.no_grad():
            bias -= bias.grad
            bias.grad = None
    check(
        table,
        "a bias for each class",
        right(after, lambda z: z + bias.detach()),
    )


def test_halves_examples_and_trainings_are_drawn_by_the_seed(
    before, after, monkeypatch
):
    least = {}

    def watched(seed, name, *numbers):
        least[name] = min(seed, least.get(name, seed))
        return stream(seed, name, *numbers)

    for name, module in [*sys.modules.items()]:
        is_ours = name.startswith("probe.")
        if is_ours and getattr(module, "stream", None) is stream:
            monkeypatch.setattr(module, "stream", watched)
    compared_in_short(before, after, seed=1000)
    by_seed = {name for name, seed in least.items() if seed >= 1000}
    assert by_seed == {"half", "stored", "batches", "new head"}


@pytest.mark.parametrize(
    ("remedy", "names", "k"),
    [
        ("all layers fine-tuned on 5 a class", None, 5),
        ("the head fine-tuned on 20 a class", ["6.weight", "6.bias"], 20),
        ("a new head on 5 a class", ["6.weight", "6.bias"], 5),
    ],
)
def test_training_on_stored_examples(after, table, remedy, names, k):
    results = []
    for seed in range(3):
        x, y = stored(STORED, [OLD], "accuracy").draw(k, seed)
        assert torch.bincount(y).tolist() == [2 * k] * 10
        network = deepcopy(after).eval()
        if "new head" in remedy:
            network = with_fresh_values(network, names, seed)
            assert not torch.equal(
                network[6].weight,
                after[6].weight,
            )
            assert torch.equal(
                network[4].weight,
                after[4].weight,
            )
        parameters = dict(network.named_parameters())
        trained = [parameters[name] for name in names or parameters]
        rate = 1e-2 if "new head" in remedy else 1e-3
        optimizer = torch.optim.Adam(trained, lr=rate)
        draw = stream(seed, "batches")
        for _ in range(50):
            rows = torch.randperm(len(y), generator=draw)[:32]
            optimizer.zero_grad()
            cross_entropy(network(x[rows]), y[rows]).backward()
            optimizer.step()
        results.append(right(network))
    expected = np.mean(results, axis=0)
    assert table.loc[remedy, ["old", "new"]].tolist() == pytest.approx(
        expected, abs=0.005
    )


def test_the_head_is_that_of_the_network_whatever_the_blocks_are(before, after, table):
    blocks = {"first": "0.*", "second": "1.*"}
    result = probe.diff(before, after, OLD, NEW, train=STORED, blocks=blocks)
    of_blocks = result.remedies.set_index("remedy")
    name = "the head fine-tuned on 5 a class"
    assert of_blocks.loc[name, "old"] == table.loc[name, "old"]


def test_a_users_remedy_gets_copies(before, after):
    def worse(first, last):
        for parameter in [*first.parameters(), *last.parameters()]:
            parameter.data.zero_()
        return last

    table = probe.diff(before, after, OLD, NEW, remedies={"zeros": worse}).remedies
    row = table.set_index("remedy").loc["zeros"]
    assert row["old"] == pytest.approx((HALF_OLD == 0).mean())
    assert row["kind"] == "user"
    assert any(bool(parameter.any()) for parameter in after.parameters())


HALF_OLD = OLD[1].numpy()[REPORTED[0]]


def test_none_of_sixty_equal_remedies_is_recommended():
    """But for 5 % of simulations: of 40, 6 are more than chance."""
    draw = np.random.default_rng(0)
    rows = np.arange(400)
    recommended = 0
    for _ in range(40):
        base = draw.random((1, 400)) < 0.7
        flips = draw.random((60, 400)) < 0.2
        values = np.where(flips, draw.random((60, 400)) < 0.7, base)
        scores = np.concatenate([base, values]).astype(float)
        kinds = [AS_IT_IS, *map(str, range(60))]
        remedies = [
            Remedy(name=kind, kind=kind, scores=x)
            for kind, x in zip(kinds, scores, strict=True)
        ]
        measured = measure(remedies, rows < 200, rows % 2 == 0, is_accuracy=True)
        recommended += any(row.is_recommended for row in measured)
    assert recommended < 6


def test_fewer_blocks_are_simpler(before, after, monkeypatch):
    sizes = {}

    def remedy(**attributes):
        made = Remedy(**attributes)
        if made.kind == "put back":
            sizes[made.name] = made.size
        return made

    monkeypatch.setattr("probe.before_after.remedies.Remedy", remedy)
    probe.diff(before, after, OLD)
    assert max(sizes.values()) > 1
    assert sizes == {name: 1 + name.count(",") for name in sizes}


def test_the_simplest_of_those_that_are_as_good_is_recommended():
    as_it_is = Remedy(name=AS_IT_IS, kind=AS_IT_IS, scores=np.zeros(80))
    remedies = [
        Remedy(name=str(size), kind="put back", scores=np.ones(80), size=size)
        for size in (3, 1, 2)
    ]
    rows = np.arange(80)
    every = [as_it_is, *remedies]
    measured = measure(every, rows < 40, rows % 2 == 0, is_accuracy=True)
    assert [row.name for row in measured if row.is_recommended] == ["1"]


def test_the_best_of_a_kind_is_that_for_old_and_new_examples_alike():
    is_old = np.arange(400) < 360
    ruins_new = is_old * 1.0
    fair = (np.arange(400) > 60) * 1.0
    scores = {AS_IT_IS: np.zeros(400), "ruins new": ruins_new, "fair": fair}
    remedies = [
        Remedy(name=name, kind=name if name == AS_IT_IS else "user", scores=x)
        for name, x in scores.items()
    ]
    rows = measure(remedies, is_old, np.arange(400) % 2 == 0, is_accuracy=True)
    assert [row.name for row in rows if row.is_recommended] == ["fair"]


def test_ranks_come_from_one_half_and_numbers_from_the_other():
    chosen_on = np.array([True, False] * 40)
    is_old = np.arange(80) < 40
    scores = {
        AS_IT_IS: np.zeros(80),
        "flattered": chosen_on * 1.0,
        "good": ~chosen_on * 1.0,
    }
    remedies = [
        Remedy(
            name=name,
            kind=name,
            scores=x,
        )
        for name, x in scores.items()
    ]
    rows = {
        row.name: row for row in measure(remedies, is_old, chosen_on, is_accuracy=True)
    }
    assert rows["flattered"].rank == 1
    assert [row.is_recommended for row in rows.values()] == [False, True, False]
    assert (rows["flattered"].old.value, rows["flattered"].new_change.value) == (0, 0)
    assert (rows["good"].old.value, rows["good"].front, rows["flattered"].front) == (
        1,
        True,
        False,
    )
    without_new = measure(
        remedies,
        np.ones(80, bool),
        chosen_on,
        is_accuracy=True,
    )
    assert {row.rank for row in without_new} == {None}


def test_the_front_by_brute_force():
    draw = np.random.default_rng(0)
    points = draw.integers(0, 5, (40, 2)) / 4
    expected = [
        not any((other >= point).all() and (other > point).any() for other in points)
        for point in points
    ]
    assert front(*points.T).tolist() == expected


def test_an_interval_of_few_examples_is_at_least_binomial():
    none = interval(np.zeros(30), is_accuracy=True)
    assert none.high == pytest.approx(1 - 0.05 ** (1 / 30))
    assert interval(np.zeros(30), is_accuracy=False).high == 0


def test_tied_weights_are_averaged_once():
    networks = []
    for value in (1.0, 0.0):
        network = nn.ModuleDict({"a": nn.Linear(3, 3), "b": nn.Linear(3, 3)})
        network["b"].weight = network["a"].weight
        nn.init.constant_(network["a"].weight, value)
        networks.append(network)
    for share in (0.25, 0.5, 0.75):
        assert bool((averaged(*networks, share)["b"].weight == share).all())


MASKS = ([0, 2, -torch.inf], [-torch.inf, 4, 0])


def test_a_mask_of_minus_infinity_is_not_averaged():
    networks = [nn.Module(), nn.Module()]
    for network, mask in zip(networks, MASKS, strict=True):
        network.register_buffer("mask", torch.tensor(mask))
    assert averaged(*networks, 0.5).mask.tolist() == [-torch.inf, 3, 0]


class Tied(nn.Module):
    """A classifier of words whose outputs are by the vectors of words, or by a layer."""

    def __init__(self, is_tied):
        super().__init__()
        self.words = nn.Embedding(12, 8)
        self.hidden = nn.Linear(8, 8)
        self.outputs = None if is_tied else nn.Linear(8, 12, bias=False)

    def forward(self, x):
        h = self.hidden(self.words(x).mean(1)).relu()
        return h @ (self.outputs or self.words).weight.T


@pytest.mark.parametrize("is_tied", [True, False])
def test_a_block_that_is_no_output_layer_is_not_called_the_head(is_tied):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        pair = [Tied(is_tied), Tied(is_tied)]
    k = torch.randperm(90, generator=stream(0, "texts"))
    x = torch.stack([k % 12, k // 12], dim=1)
    train, old, new = zip(
        x.split(30),
        x[:, 0].split(30),
        strict=True,
    )
    table = probe.diff(
        *pair,
        old,
        new,
        train=train,
    ).remedies
    name = "last block" if is_tied else "head"
    trainings = {
        "all layers fine-tuned",
        f"the {name} fine-tuned",
        f"a new {name}",
    }
    names = table["remedy"].str.partition(" on 5 a class")
    assert set(names[0][names[1] != ""]) == trainings


def test_half_precision_has_the_same_remedies():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        before = nn.Sequential(nn.Linear(6, 9), nn.ReLU(), nn.Linear(9, 3))
        x = torch.randn(150, 6)
    y = (x[:, 0] > 0).long()
    before[0].bias.data[0] = -100  # a unit without gradient
    after = trained(before, (x[:50], y[:50]), 20)
    tables = []
    for dtype in (torch.float32, torch.float16):
        first = deepcopy(before).to(dtype)
        last = deepcopy(after).to(dtype)
        old, new, train = zip(
            x.to(dtype).split(50),
            y.split(50),
            strict=True,
        )
        table = probe.diff(
            first,
            last,
            old,
            new,
            train=train,
        ).remedies
        tables.append(table.set_index("remedy")["old"])
    exact, half = tables
    assert [*half.index] == [*exact.index]
    assert (half - exact).abs().max() < 0.1


def test_gradients_of_recurrent_layers_in_eval_mode_are_not_those_of_cudnn():
    cudnn = torch.backends.cudnn
    recurrent = nn.Sequential(nn.GRU(2, 2))
    with eval_with_gradients(nn.Linear(2, 2)):
        assert cudnn.enabled

    def fail():
        with eval_with_gradients(recurrent):
            assert not cudnn.enabled
            assert not recurrent[0].training
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert cudnn.enabled
    assert recurrent[0].training


def test_only_old_examples_may_be_stored():
    (found,) = stored({"old": STORED["old"]}, [OLD], "accuracy").sets
    assert torch.equal(found[1], STORED["old"][1])
