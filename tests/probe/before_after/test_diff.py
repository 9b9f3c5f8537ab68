"""`probe.diff` against `causes` and `analyze`, its forms of networks and examples, its answer."""

import json
import pickle
import re
from copy import deepcopy
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

import probe
from probe.before_after.setting import Setting
from probe.errors import InputError
from probe.rewinding.parts import Parts
from probe.seeding import stream
from probe.training.fresh_weights import initialize
from tests.probe.before_after.conftest import (
    NEW,
    OLD,
    STORED,
    TRAIN,
    compared_in_short,
    few,
    small,
    trained,
    turned,
)
from tests.probe.record.tiny import same_state


def squared(network, x, y):
    return -(network(x).softmax(1)[torch.arange(len(y)), y] - 1).square()


@pytest.fixture(scope="module")
def result(before, after):
    return probe.diff(before, after, OLD, NEW)


@pytest.mark.parametrize("score", ["accuracy", "loss", squared])
def test_causes_are_those_of_probe_causes_bit_for_bit(before, after, score):
    of_diff = probe.diff(before, after, OLD, NEW, score=score).causes
    of_causes = probe.causes({1: before, 2: after}, [OLD, NEW], score)
    pd.testing.assert_frame_equal(
        of_diff[of_causes.columns], of_causes, check_exact=True
    )
    assert of_diff.attrs == of_causes.attrs


def test_causes_and_content_are_those_of_analyze_bit_for_bit(before, after, full):
    result = full
    fresh = deepcopy(after)
    initialize(fresh, "torch", stream(0, "new head"))
    analysis = probe.analyze(
        {0: fresh, 1: before, 2: after},
        list(STORED.values()),
        [OLD, NEW],
        readouts=["linear"],
        features=list(result.content["block"].unique()),
    )
    rows = analysis.to_pandas("causes").query(
        "task_position == 1 and quantity == 'attributed' and score == 'accuracy'"
    )
    shares = result.causes.set_index("feature")["share"]
    assert rows.set_index("feature")["value"].to_dict() == shares.to_dict()
    for row in result.content.itertuples():
        values = analysis.matrix(row.block, "linear").values
        position = ["old", "new"].index(row.examples)
        accuracies = (row.untrained, row.before, row.after)
        assert accuracies == tuple(values[:, position])


def test_pieces_add_up_to_what_was_lost_in_a_block_too(before, after, result):
    lost = result.answer.lost.value
    assert result.causes["share"].sum() == pytest.approx(lost, abs=1e-12)
    inside = result.inside("1")
    assert inside["feature"].tolist() == ["1.0", "1.1", "rest"]
    assert inside["share"].sum() == pytest.approx(lost, abs=1e-12)
    assert set(result.inside("1.1")["feature"]) > {"1.1.running_mean", "1.1.weight"}
    with pytest.raises(InputError, match="nowhere"):
        result.inside("nowhere")


def test_a_tenth_layer_is_no_part_of_the_first():
    names = ("1.weight", "10.weight", "1.bias")
    setting = SimpleNamespace(blame=lambda parts: parts.blocks)
    opened = Setting.opened(setting, Parts(blocks={"all": names}), "1")
    assert opened["rest"] == ("10.weight",)


def test_what_each_example_lost_averages_to_what_each_block_cost(before, after, result):
    x, y = OLD
    was_right = (before(x).argmax(1) == y).double()
    is_right = (after(x).argmax(1) == y).double()
    of_block = dict(iter(result.examples.groupby("feature")))
    assert of_block.keys() == set(result.causes["feature"])
    for row in result.causes.itertuples():
        rows = of_block[row.feature]
        assert rows["example"].tolist() == list(range(len(y)))
        assert rows["lost"].tolist() == (was_right - is_right).tolist()
        for name, mean in (
            ("attributed", row.share),
            ("broken", row.broken),
            ("restored", row.restored),
        ):
            assert rows[name].mean() == pytest.approx(mean, abs=1e-12)


def test_new_is_what_putting_only_one_block_back_changes(before, after, result):
    x, y = NEW
    for row in result.causes.itertuples():
        mixed = deepcopy(after)
        name = {"output": "6", "5": "4"}.get(
            row.feature,
            row.feature,
        )
        mixed.get_submodule(name).load_state_dict(
            before.get_submodule(name).state_dict()
        )
        was_right = mixed(x).argmax(1) == y
        is_right = after(x).argmax(1) == y
        right = was_right.double() - is_right.double()
        assert row.new == pytest.approx(right.mean().item(), abs=1e-12)


def test_networks_and_generators_are_as_before(before, after):
    states = [deepcopy(network.state_dict()) for network in (before, after)]
    after.train()
    random = torch.get_rng_state()
    compared_in_short(before, after)
    assert after.training
    assert torch.equal(torch.get_rng_state(), random)
    assert all(parameter.requires_grad for parameter in after.parameters())
    for network, state in zip((before, after), states, strict=True):
        assert same_state(network.state_dict(), state)
    after.eval()


def test_files_give_the_same(before, after, result, tmp_path):
    for name, network in {"before": before, "after": after}.items():
        states = {"ema": network.state_dict(), "raw": small().state_dict()}
        torch.save(states, tmp_path / f"{name}.pt")
    last = probe.Model(tmp_path / "after.pt", fresh=small, weights="ema")
    again = probe.diff(tmp_path / "before.pt", last, OLD, NEW)
    assert str(again) == str(result)
    with pytest.raises(InputError, match="got dict"):
        probe.diff(before, probe.Model(tmp_path / "after.pt", load=torch.load), OLD)
    with pytest.raises(InputError, match="FileNotFoundError"):
        probe.diff(before, probe.Model(tmp_path / "none.pt", load=torch.load), OLD)


def test_what_is_noted_of_each_file_is_in_the_answer(before, after, tmp_path):
    files = {"before": before, "after": after}
    for name, network in files.items():
        state = {**network.state_dict(), f"{name}.extra": torch.zeros(1)}
        torch.save(state, tmp_path / f"{name}.pt")
    last = probe.Model(tmp_path / "after.pt", fresh=small)
    words = str(probe.diff(tmp_path / "before.pt", last, OLD, NEW)).split()
    for name in files:
        assert f"{name}.pt: its file also has {name}.extra" in " ".join(words)


class Adapted(nn.Module):
    """A linear layer with an adapter, which is turned off by an attribute, as PEFT's."""

    def __init__(self, base):
        super().__init__()
        self.base = base
        self.adapter = nn.Linear(64, 10)
        self.disabled = False

    def forward(self, x):
        x = x.flatten(1)
        return self.base(x) if self.disabled else self.base(x) + self.adapter(x)

    def disable_adapter_layers(self):
        self.disabled = True


def test_a_network_is_compared_with_itself_without_adapters():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        base = trained(
            nn.Sequential(
                nn.Flatten(),
                nn.Linear(64, 10),
            ),
            TRAIN,
            10,
        )
        network = Adapted(base[1])
    result = probe.diff(None, network, OLD)
    x, y = OLD
    was_right = base(x).argmax(1) == y
    is_right = network(x).argmax(1) == y
    assert result.answer.old.before == was_right.double().mean().item()
    assert result.answer.old.after == is_right.double().mean().item()
    assert result.answer.kind == "unclear"
    assert "adapters" in result.answer.changed
    assert not network.disabled
    with pytest.raises(InputError, match="no adapters"):
        probe.diff(None, base, OLD)


def test_a_grown_head_loses_to_new_outputs_too(before, monkeypatch):
    chances = set()
    monkeypatch.setattr(
        "probe.rewinding.two_networks.deficit_doubt",
        lambda rewinding, chance: chances.add(chance) or "",
    )
    grown = deepcopy(before)
    grown[6] = nn.Linear(16, 12)
    with torch.no_grad():
        grown[6].weight[:10] = before[6].weight
        grown[6].bias[:10] = before[6].bias
        grown[6].bias[10:] = torch.tensor([50.0, 0])
    result = probe.diff(
        before,
        grown,
        OLD,
        train=few(TRAIN),
    )
    answer = result.answer
    assert set(result.content["examples"]) == {"old"}
    # Its earlier rows are as they were.
    assert [change.relative for change in result.block_changes if change.changed] == [0]
    assert chances == {1 / 12}
    assert any("new outputs compete" in sentence for sentence in answer.belief)
    assert answer.old.after == 0
    assert answer.lost.value == pytest.approx(answer.old.before)
    new = NEW[0], torch.full_like(NEW[1], 10)
    of_loss = probe.diff(before, grown, OLD, new, score="loss")
    losses = of_loss.answer
    assert "outputs of after for new classes" in str(losses)
    old = losses.old
    assert f" {old.before:.1f} -> {old.after:.1f} (loss)" in str(losses)
    assert of_loss.plot().get_ylim()[0] > 2 * old.after
    few_new = NEW[0][:20], NEW[1][:20]
    assert "few examples" in str(probe.diff(before, grown, OLD, few_new))
    no_new_class = probe.diff(before, grown, OLD, NEW, score="loss").answer
    assert "for new classes" not in str(no_new_class)
    mixed = nn.Sequential(*before[:6], grown[6])
    for score, network, (x, y) in (
        (no_new_class.new.before, before, NEW),
        (losses.old.before, before, OLD),
        (losses.old.after, grown, OLD),
        (losses.new.before, mixed, new),
        (losses.new.after, grown, new),
    ):
        assert score == pytest.approx(-cross_entropy(network(x), y).item(), rel=1e-5)


@pytest.mark.parametrize("use", ["diff", "causes"])
def test_numbers_to_be_predicted_may_be_whole_and_outputs_need_no_column(use):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        first = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 1))
        last = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 1))
        x = torch.randn(90, 4)
        y = torch.randint(-5, 5, (90,))
    score = "squared_error"
    said = set()
    for labels, call in (
        (y[:, None].float(), None),
        (y, None),
        (y, lambda network, x: network(x)[:, 0]),
    ):
        old, new, train = zip(
            x.split(30),
            labels.split(30),
            strict=True,
        )
        networks = probe.Model({1: first, 2: last}, call=call)
        if use == "causes":
            table = probe.causes(networks, [old, new], score)
        else:
            result = probe.diff(
                first,
                last,
                old,
                new,
                train=train,
                call=call,
                score=score,
            )
            table = result.remedies
            said.add(str(result))
        said.add(str(table))
    assert len(said) == 1 + (use == "diff")


def test_one_output_is_refused_with_a_call_that_is_right():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        first, last = nn.Linear(4, 1), nn.Linear(4, 1)
        x = torch.randn(60, 4)
    old = x, (x[:, 0] > 0).long()
    with pytest.raises(InputError, match="one output: for two classes") as refused:
        probe.diff(first, last, old)
    text = re.search(r"call=(lambda .*\)\))", str(refused.value))[1]
    answer = probe.diff(
        first,
        last,
        old,
        call=eval(text),
    ).answer
    predicted = last(x)[:, 0] > 0
    right = (predicted == old[1]).double().mean()
    assert answer.old.after == right.item()


def test_a_result_is_pickled_without_its_networks(result):
    again = pickle.loads(pickle.dumps(result))
    assert str(again) == str(result)
    with pytest.raises(InputError, match="no networks"):
        again.inside("0")


def test_labels_of_a_users_score_may_be_any_numbers():
    def score(network, x, y):
        return -(network(x)[:, 0] - y).square()

    network = nn.Linear(4, 1)
    x = torch.randn(90, 4, generator=torch.Generator().manual_seed(0))
    old, new, train = zip(
        x.split(30),
        (torch.arange(90) - 45).split(30),
        strict=True,
    )
    result = probe.diff(
        network,
        nn.Linear(4, 1),
        old,
        new,
        train=train,
        score=score,
    )
    assert result.content.empty


class Sequence(nn.Module):
    """An LSTM of three layers, whose last state is read."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(
            8,
            12,
            num_layers=3,
            batch_first=True,
        )
        self.head = nn.Linear(12, 10)

    def forward(self, x):
        return self.head(self.lstm(x[:, 0])[0][:, -1])


def test_layers_of_recurrent_modules_are_blocks_by_name_and_by_pattern():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = Sequence()
    network = trained(network, TRAIN, 10)
    damaged = deepcopy(network)
    damaged.lstm.weight_hh_l1.data *= -1
    patterns = {f"layer {k + 1}": f"lstm.*_l{k}" for k in range(3)}
    for blocks, guilty in (("auto", "lstm layer 2"), (patterns, "layer 2")):
        result = probe.diff(network, damaged, OLD, blocks=blocks)
        share = result.causes.set_index("feature")["share"]
        assert share[guilty] == pytest.approx(result.answer.lost.value)
        assert share[guilty] > 0.1
    assert set(share.index) == {*patterns, "rest"}
    two = {"layer 1": "lstm.*_l0"}
    assert (
        probe.diff(network, damaged, OLD, blocks=two).answer.blocks[0].block == "rest"
    )
    analysis = probe.analyze(
        {1: network, 2: damaged},
        [few(TRAIN), turned(few(TRAIN))],
        [OLD, NEW],
        readouts=probe.Measure(readouts=["linear"], blocks=patterns),
    )
    rows = analysis.to_pandas("causes").query(
        "task_position == 1 and quantity == 'attributed' and score == 'accuracy'"
    )
    assert rows.set_index("feature")["value"].to_dict() == share.drop("rest").to_dict()
    with pytest.raises(InputError, match=r"gru\.\*"):
        probe.diff(network, damaged, OLD, blocks={"gru": "gru.*"})


REFUSED = {
    "rows of train in old and new": (
        lambda: {"train": {"old": OLD, "new": NEW}},
        f"{len(OLD[1]) + len(NEW[1])} examples of train are test examples",
    ),
    "one example": (lambda: {"old": (OLD[0][:1], OLD[1][:1])}, "2 or more"),
    "a label beyond the outputs": (
        lambda: {"old": (OLD[0], OLD[1] + 1)},
        "label 10.* outputs: leave such examples out$",
    ),
    "another type in train": (
        lambda: {"train": (TRAIN[0].double(), TRAIN[1])},
        "float64",
    ),
    "a word for blocks": (lambda: {"blocks": "output"}, "'output'"),
    "a label below 0": (lambda: {"old": (OLD[0], OLD[1] - 1)}, "label -1"),
    "another form": (lambda: {"new": (NEW[0].flatten(1), NEW[1])}, "same form"),
    "no label": (lambda: {"old": {"input": OLD[0]}}, "label"),
    "score": (lambda: {"score": "f1"}, "f1"),
    "margin": (lambda: {"margin": -1}, "-1"),
    "a remedy": (
        lambda: {"remedies": {"mine": lambda before, after: 3}},
        "'mine'.*int",
    ),
    "a feature": (lambda: {"blocks": ["nowhere"]}, "nowhere"),
    "a name of ours": (lambda: {"blocks": {"rest": "0.*"}}, "another name"),
    "weights only": (lambda: {"before": "some.pt"}, "fresh=build"),
    "another network": (lambda: {"before": nn.Linear(2, 2)}, "architecture"),
}


@pytest.mark.parametrize("mistake", REFUSED)
def test_mistakes_are_refused_by_name(before, after, mistake):
    changes, name = REFUSED[mistake]
    arguments = {
        "before": before,
        "after": after,
        "old": OLD,
        "new": NEW,
    } | changes()
    with pytest.raises(InputError, match=name):
        probe.diff(**arguments)


def test_the_answer_is_a_screen_and_a_record(full):
    result = full
    lines = str(result).splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    for sentence in (*result.answer.meaning, *result.answer.belief):
        assert len(sentence.split()) <= 20
    content = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert content["answer"]["lost"]["value"] == result.answer.lost.value
    assert len(content["remedies"]) == len(result.remedies)
    old = result.answer.old
    assert old.after - old.before == pytest.approx(-result.answer.lost.value)
    ends = np.array(
        [
            result.answer.lost.low,
            result.answer.lost.high,
        ]
    )
    assert (ends == -np.array([old.change.high, old.change.low])).all()
