"""The matrix of a feature holds what its module gives, whatever the cut keeps."""

from functools import partial

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from probe.analysis import units
from probe.analysis.units import Activity
from probe.batch import varied
from probe.cut.cuts import cut_each
from probe.errors import InputError
from probe.examples import Examples
from probe.modules import tap
from probe.readouts.matrix import feature_matrices
from probe.readouts.pooling import Layout, Pooling
from probe.readouts.readout import Linear
from probe.results.analyze import analyze
from probe.training.recipe import Recipe
from tests.laws.zoo.written import Written

MEAN = Pooling(pool="mean")


def outputs(model, names, x):
    """Return what forward hooks see in eval mode."""
    seen = {}

    def note(name, output):
        seen[name] = output.detach().clone()

    with torch.no_grad(), tap(model.eval(), names, note):
        model(**x) if isinstance(x, dict) else model(x.clone())
    return seen


def chain():
    return nn.Sequential(
        nn.Conv2d(1, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(),
        nn.Linear(4 * 3 * 3, 5),
    )


def test_values_are_those_of_the_module_also_where_the_cut_keeps_others():
    model = chain()
    x = torch.randn(11, 1, 8, 8)
    names = ["0", "1", "3", "6"]
    cuts = cut_each(model, names, x)
    kept = [cut.facts.kept != cut.facts.value for cut in cuts.each]
    assert any(kept)
    found = feature_matrices(cuts, x, batch_size=4)
    for name, value in outputs(model, names, x).items():
        torch.testing.assert_close(found[name][0], value.flatten(1))
    assert bool(
        (found["0"][0] < 0).any()
    )  # the ReLU behind it writes over this very memory


def sequence_first(m, x):
    """(B, T, D) is turned to (T, B, D) on the way; the last linear sees (2 B, D)."""
    y = torch.relu(m.a(x.transpose(0, 1)))  # (T, B, 4)
    z = m.b(y.transpose(0, 1).reshape(-1, 4))  # (T B, 2)
    return z.reshape(len(x), -1) + m.c(y.sum(0))[:, :1]


def test_rows_are_examples_wherever_these_lie():
    layers = {
        "a": (3, 4),
        "b": (4, 2),
        "c": (4, 2),
    }
    model = Written(sequence_first, layers)
    x = torch.randn(7, 2, 3)
    cuts = cut_each(model, ["a", "b"], x)
    found = feature_matrices(cuts, x, batch_size=3)
    with torch.no_grad():
        a = model.a(x)
        torch.testing.assert_close(found["a"][0], a.flatten(1))
        torch.testing.assert_close(found["b"][0], model.b(a.relu()).flatten(1))


class Two(nn.Module):
    def forward(self, x):
        return x[:, :2] * 2, x[:, 2:] * 3


def test_values_of_several_tensors_are_side_by_side():
    layers = {
        "first": (5, 5),
        "two": Two,
        "last": (2, 3),
    }
    model = Written(
        lambda m, x: m.last((pair := m.two(m.first(x)))[0]) + pair[1], layers
    )
    x = torch.randn(6, 5)
    found = feature_matrices(cut_each(model, ["two"], x), x)["two"]
    with torch.no_grad():
        torch.testing.assert_close(found[0], torch.cat(model.two(model.first(x)), 1))
    assert found[1] == "flattened, 2 values + flattened, 3 values"
    # Together they are as wide as one may be.
    narrow = Pooling(pool="projection", width=2)
    cuts = cut_each(model, ["two"], x)
    assert feature_matrices(cuts, x, pooling=narrow)["two"][0].shape == (6, 2)


def test_a_value_without_a_row_for_each_example_is_refused():
    """The value of `inner` is of the whole batch."""
    layers = {
        "first": (3, 3),
        "inner": (3, 3),
        "last": (3, 2),
    }
    model = Written(lambda m, x: m.last(m.first(x) + m.inner(torch.ones(1, 3))), layers)
    x = torch.randn(6, 3)
    with pytest.raises(InputError, match=r"'inner'.*has no row for each example"):
        feature_matrices(cut_each(model, ["inner"], x), x)


class Packed(nn.Module):
    """A text classifier: `pack` gives no row for each example, `lstm` two tensors that do."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(9, 4, padding_idx=0)
        self.pack = nn.Identity()
        self.lstm = nn.LSTM(4, 3, batch_first=True)
        self.head = nn.Linear(3, 4)

    def forward(self, x):
        lengths = (x > 0).sum(1)
        packed = pack_padded_sequence(
            self.embed(x),
            lengths,
            True,
            enforce_sorted=False,
        )
        return self.head(self.lstm(self.pack(packed))[1][0][-1])


@pytest.mark.parametrize(
    "act",
    [
        nn.ReLU,
        nn.GELU,
    ],
)
def test_dead_and_dormant_units_are_counted_before_pooling(act):
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3),
        act(),
        nn.Flatten(),
        nn.Linear(3136, 9),
        act(),
    )
    with torch.no_grad():
        model[0].bias[:3] = -4.0
        model[3].bias[:2] = -9.0
    x = torch.randn(300, 1, 16, 16)
    activities = dict[str, Activity]()
    feature_matrices(cut_each(model, ["1", "4"], x), x, activities=activities)
    shares = {name: activity.shares() for name, activity in activities.items()}
    values = outputs(model, ["1", "4"], x)
    of_unit = {"1": values["1"].flatten(2), "4": values["4"][..., None]}
    for name, a in of_unit.items():
        scores = a.abs().mean((0, 2)) / a.abs().mean()
        dead = (a == a[:1]).all(0).all(1)
        few = [float(unit.double().mean()) for unit in (dead, scores <= 0.025)]
        assert shares[name] == dict(
            zip(
                shares[name],
                [
                    a.shape[1],
                    *few,
                ],
                strict=True,
            )
        )
    assert shares["1"] == {
        "units": 16,
        "dead": 3 / 16 * (act is nn.ReLU),
        "dormant": 3 / 16,
    }


def test_activity_is_that_of_all_parts_of_all_tensors(monkeypatch):
    """A unit that is small at many positions is dormant, and one that fires once is not dead."""
    small = torch.full((3, 1, 100), 0.01)
    once = torch.ones(3, 1, 1)
    once[1] = 2
    for at_once in (1, 1000):
        monkeypatch.setattr(units, "_AT_ONCE", at_once)
        activity = Activity()
        activity.add([small, once])
        assert activity.shares() == {
            "units": 2,
            "dead": 0.5,
            "dormant": 0.5,
        }


class Rows(nn.Module):
    """A convolution whose images are read as rows, in an order that channels-last ones lack.

    Examples of large numbers are viewed, where these raise an error; others get a wrong
    order without one if they are strided.
    """

    def __init__(self, *, strided):
        super().__init__()
        self.conv = nn.Conv2d(2, 3, 1)
        self.rows = nn.Identity()
        self.head = nn.Linear(48, 2)
        self.strided = strided

    def forward(self, x):
        y = self.conv(x)
        if (x > 9).any():
            rows = y.view(len(x), -1)
        elif self.strided:
            rows = y.as_strided((len(x), 48), (48, 1))
        else:
            rows = y.flatten(1)
        return self.head(self.rows(rows))


@pytest.mark.parametrize("strided", [True, False])
def test_images_are_read_in_the_layout_that_a_batch_needs(strided):
    model = Rows(strided=strided)
    x = torch.randn(8, 2, 4, 4)
    if not strided:
        x[7] = 10.0  # not among the examples by which it is cut
    found = feature_matrices(cut_each(model, ["rows"], x[:4]), x, 4)["rows"][0]
    torch.testing.assert_close(found, outputs(model, ["rows"], x)["rows"])


@pytest.mark.parametrize("shortest", [1, 6])
def test_auto_offers_what_can_be_read_and_an_unreadable_layer_ends_no_run(shortest):
    model = Packed()
    x = torch.randint(1, 9, (40, 6))
    x[torch.arange(6) >= torch.randint(shortest, 7, (40, 1))] = 0
    cuts = cut_each(model, ["lstm"], x)
    _, (h, _) = model.lstm(
        pack_padded_sequence(
            model.embed(x),
            (x > 0).sum(1),
            True,
            False,
        )
    )
    found = feature_matrices(cuts, x)["lstm"][0]
    torch.testing.assert_close(
        found,
        h[0],
    )
    data = x, torch.arange(40) % 4
    run = partial(
        analyze,
        {2: model},
        data,
        data,
        [
            [0, 1],
            [2, 3],
        ],
        recipe=Recipe(epochs=1),
    )
    assert run(readouts=["ncm"]).features == ("embed", "lstm", "head")
    result = run(features=["pack", "lstm"], readouts=["linear"])
    measured = result.tables()["measurements"].query("readout == 'linear'")
    assert set(measured["feature"]) == {"lstm"}
    notes = result.tables()["notes"].query(
        "note.str.contains('no row for each example')"
    )
    assert set(notes["feature"]) == {"pack"}


class Masking(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Linear(3, 4),
            nn.Identity(),
            nn.Identity(),
            nn.Linear(4, 4),
        )

    def forward(self, x):
        masked = self[1](self[0](x).masked_fill(x[:, :1] < 0, -torch.inf))
        return self[3](self[2](torch.fft.fft(masked.softmax(1))).imag)


def test_infinite_and_complex_layers_are_named_and_end_no_run():
    data = torch.randn(40, 3), torch.arange(40) % 4
    torch.nn.init.zeros_((model := Masking())[3].weight)
    model[3].register_forward_pre_hook(lambda _, inputs: inputs[0].nan_to_num())
    layers = ["0", "1", "2"]
    result = analyze(
        {2: model},
        data,
        data,
        [
            [0, 1],
            [2, 3],
        ],
        layers,
        readouts=["linear"],
    )
    assert set(
        result.tables()["measurements"].query("readout == 'linear'")["feature"]
    ) == {"0"}
    notes = result.tables()["notes"].query("note.str.contains('infinite or complex')")
    assert set(notes["feature"]) == {"1", "2"}


def test_the_slow_way_gives_the_value_too():
    """Where data decides the size of a value on the way, nothing can be cached."""

    def masked(m, x):
        y = torch.relu(x)
        return m.b(m.a(x) + y[y > 0.5].sum() * 0)

    model = Written(
        masked,
        {
            "a": (3, 4),
            "b": (4, 2),
        },
    )
    x = torch.randn(7, 3)
    cuts = cut_each(model, ["b"], x)
    assert cuts.each[0].slow
    found = feature_matrices(cuts, x, batch_size=7)["b"][0]
    torch.testing.assert_close(found, outputs(model, ["b"], x)["b"])


class Turned(nn.Module):
    """A product mixes dimensions: what was the channels' is so no more."""

    def forward(self, x):
        return x.mT @ torch.eye(x.shape[-2])


LINE = {
    "conv": lambda: nn.Conv1d(6, 8, 1),
    "turn": Turned,
    "head": (8, 2),
}


def test_a_wide_value_of_unknown_origin_is_projected_alike_unless_its_axis_is_set():
    x = torch.randn(9, 6, 130)
    last = Pooling(pool="mean", channels="last")
    for _ in range(2):
        model = Written(lambda m, x: m.head(m.turn(m.conv(x)).mean(1)), LINE)
        cuts = cut_each(model, ["turn"], x)
        value = outputs(model, ["turn"], x)["turn"]
        found = feature_matrices(cuts, x, pooling=MEAN)["turn"]
        projected = Layout(shape=(130, 8), projected=512).rows(value)
        torch.testing.assert_close(found[0], projected)
        assert (
            "130 x 8 values, made by no known module (set linear's `channels`"
            in found[1]
        )
        found = feature_matrices(cuts, x, pooling=last)["turn"]
        torch.testing.assert_close(found[0], value.mean(1))


def test_channels_that_are_last_stay_last_through_reshapes():
    """As in a block of a Swin transformer: (B, H, W, C), in between (B, H W, C)."""

    def forward(m, x):
        tokens = m.conv(x).permute(0, 2, 3, 1).reshape(len(x), -1, 8)
        return m.head(
            m.mark((tokens + m.mix(tokens)).reshape(len(x), 10, -1, 8))[:, 0, 0]
        )

    layers = {
        "conv": lambda: nn.Conv2d(3, 8, 1),
        "mix": (8, 8),
        "mark": nn.Identity,
        "head": (8, 2),
    }
    model = Written(forward, layers)
    x = torch.randn(9, 3, 10, 12)
    found = feature_matrices(cut_each(model, ["mark"], x), x, pooling=MEAN)["mark"]
    torch.testing.assert_close(
        found[0], outputs(model, ["mark"], x)["mark"].mean((1, 2))
    )


def test_several_lines_of_an_example_are_averaged_together():
    """The convolution sees (3 B, 6, 50)."""
    x = torch.randn(7, 3, 6, 50)
    model = Written(lambda m, x: m.head(m.conv(x.flatten(0, 1)).mean(2))[::3], LINE)
    found = feature_matrices(cut_each(model, ["conv"], x), x, pooling=MEAN)["conv"]
    value = outputs(model, ["conv"], x)["conv"].unflatten(0, (7, 3))
    torch.testing.assert_close(found[0], value.mean((1, 3)))


class OfWords(nn.Module):
    def __init__(self, prompts):
        super().__init__()
        self.embed = nn.Embedding(9, 5)
        self.head = nn.Linear(5, 2)
        self.prompts = nn.Parameter(torch.randn(prompts, 5))
        self.all = nn.Linear(5, 5)

    def forward(self, ids, *by_position, **by_name):
        words = torch.cat(
            [
                self.prompts.expand(len(ids), -1, -1),
                self.embed(ids),
            ],
            1,
        )
        return self.head(self.all(words).mean(1))


# How a mask is given, by its name; names of inputs by position begin with a digit.
MASKS = {
    "attention_mask": lambda keep: keep.long(),
    "attn_mask": lambda keep: torch.zeros(keep.shape).masked_fill(~keep, -torch.inf),
    "src_key_padding_mask": lambda keep: ~keep,
    "pad_mask": lambda keep: 1 - keep.int(),
    "1 kept": lambda keep: keep,
    "1 dropped": lambda keep: ~keep,
}


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize(
    ("length", "prompts"),
    [
        (7, 0),
        (300, 0),
        (300, 5),
    ],
)
def test_padding_and_prompts_are_no_part_of_a_text(name, length, prompts):
    lengths = torch.tensor([1, 3, 7, 2])
    keep = torch.arange(length) < lengths[:, None]
    ids = torch.randint(1, 9, (4, length)) * keep
    mask = MASKS[name](keep)
    x = (
        (ids, mask)
        if name.startswith("1")
        else {
            "ids": ids,
            name: mask,
        }
    )
    model = OfWords(prompts)
    cuts = cut_each(model, ["all"], x)
    [(values, how)] = feature_matrices(cuts, x, batch_size=3).values()
    with torch.no_grad():
        words = model.all(model.embed(ids))
        means = [row[:n].mean(0) for row, n in zip(words, lengths, strict=True)]
    assert torch.allclose(values, torch.stack(means), atol=1e-6)
    assert "a mask keeps" in how


def test_a_mask_that_is_added_drops_nothing_where_nothing_is_padding():
    x = {"ids": torch.randint(1, 9, (4, 7)), "attn_mask": torch.zeros(4, 7)}
    model = OfWords(0)
    [(values, _)] = feature_matrices(cut_each(model, ["all"], x), x).values()
    with torch.no_grad():
        words = model.all(model.embed(x["ids"]))
    assert torch.allclose(values, words.mean(1), atol=1e-6)


class Twice(nn.Module):
    """A module that runs twice, on another path for inputs of another sign."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 3)
        self.act = nn.Tanh()
        self.last = nn.Linear(3, 2)

    def forward(self, x):
        if bool(x.sum() > 0):
            x = x.abs() + 1
        return self.last(self.act(2 * self.act(self.first(x))))


def test_each_run_of_a_module_is_read_on_another_path_too():
    model = Twice()
    x = torch.rand(6, 4)
    cuts = cut_each(model, ["act#1", "act#2"], -x, tails=False)
    matrices = feature_matrices(cuts, x)
    with torch.no_grad():
        once = model.act(model.first(x.abs() + 1))
        expected = {"act#1": once, "act#2": model.act(2 * once)}
    for name, values in expected.items():
        assert torch.allclose(matrices[name][0], values, atol=1e-6)


class Strided(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv1d(1, channels, 2, 2)
        self.head = nn.Linear(channels, 2)

    def forward(self, values, mask):
        return self.head(self.conv(values[:, None]).mean(2))


@pytest.mark.parametrize("channels", [8, 24])
def test_padding_is_no_part_of_what_a_stride_leaves_of_a_text(channels):
    model = Strided(channels)
    lengths = torch.tensor([4, 24, 12])
    keep = torch.arange(24) < lengths[:, None]
    x = {
        "values": torch.randn(3, 24),
        "mask": keep,
    }
    [(found, _)] = feature_matrices(cut_each(model, ["conv"], x), x).values()
    with torch.no_grad():
        words = model.conv(x["values"][:, None])
    means = [row[:, : n // 2].mean(1) for row, n in zip(words, lengths, strict=True)]
    torch.testing.assert_close(found, torch.stack(means))


def sequence(read):
    class Sequence(nn.Module):
        """Three blocks over tokens, of which the head reads some."""

        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(9, 8)
            self.head = nn.Linear(8, 4)
            self.blocks = nn.ModuleList(
                nn.TransformerEncoderLayer(
                    8,
                    2,
                    16,
                    0.0,
                    batch_first=True,
                )
                for _ in range(3)
            )

        def forward(self, ids, mask):
            x = self.embed(ids)
            for block in self.blocks:
                x = block(x, src_key_padding_mask=mask == 0)
            return self.head(read(x, mask))

    return Sequence


def at_last(x, mask):
    return x[torch.arange(len(x)), mask.sum(1) - 1]


# What the head reads of (B, L, C), and the same for the readouts of every block.
HEADS = {
    "a class token": (lambda x, mask: x[:, 0], "at 1 of 12 positions"),
    "two class tokens": (lambda x, mask: x[:, :2].mean(1), "at 2 of 12 positions"),
    "the end": (lambda x, mask: x[:, -1], "at 1 of 12 positions"),
    "the last word": (at_last, "at the last of 12 positions"),
    "all words": (
        lambda x, mask: (x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True),
        "those that a mask keeps of 12 positions",
    ),
}


@pytest.mark.parametrize("name", HEADS)
def test_of_a_sequence_is_read_what_the_head_reads(name):
    read, expected = HEADS[name]
    torch.manual_seed(0)
    model = sequence(read)().eval()
    ids = torch.randint(1, 9, (9, 12))
    mask = (
        torch.arange(12) < torch.tensor([3, 12, 7, 5, 9, 4, 12, 6, 8])[:, None]
    ).long()
    x = {
        "ids": ids,
        "mask": mask if "word" in name else torch.ones_like(mask),
    }
    names = ["blocks.0", "blocks.1"]
    for block, (values, how) in feature_matrices(cut_each(model, names, x), x).items():
        assert expected in how
        # Two tokens are read side by side, as a head may tell them apart.
        assert values.shape[1] == (16 if "two" in name else 8)
        values = values.unflatten(1, (8, -1)).mean(2)
        value = outputs(model, [block], x)[block]
        torch.testing.assert_close(
            values,
            read(value, x["mask"]),
            rtol=1e-4,
            atol=1e-5,
        )
    averaged = feature_matrices(
        cut_each(model, names, x), x, pooling=Pooling(pool="mean")
    )
    assert all("as the head reads" not in how for _, how in averaged.values())


@pytest.mark.parametrize("name", ["a class token", "the last word"])
def test_so_it_is_with_a_head_of_zeros_and_with_ids_that_end_in_zeros(name):
    model = sequence(lambda x, ids: HEADS[name][0](x, (ids != 0).long()))().eval()
    nn.init.zeros_(model.head.weight)
    ids = torch.arange(12) < torch.tensor([3, 12, 7, 5, 9, 4, 12, 6, 8])[:, None]
    ids = ids.long() * torch.randint(1, 9, (9, 12))
    x = {
        "ids": ids,
        "mask": ids,
    }
    for _, how in feature_matrices(cut_each(model, ["blocks.0"], x), x).values():
        assert HEADS[name][1] in how


def test_the_position_is_looked_for_in_examples_of_many_lengths():
    """Also where a number for each example tells them."""
    lengths = torch.arange(3, 12).repeat_interleave(9)
    assert (
        len(
            varied(
                {
                    "x": torch.randn(81, 12, 4),
                    "lengths": lengths,
                },
                8,
            )["lengths"].unique()
        )
        > 4
    )
    mask = (torch.arange(12) < lengths[:, None]).float()
    assert len(varied({"mask": mask}, 8)["mask"].sum(1).unique()) > 4


class Prepending(nn.Module):
    """Its token is joined to inputs, so that no layer tells the axis of the channels."""

    def __init__(self):
        super().__init__()
        self.token = nn.Linear(3, 5)
        self.block = nn.Identity()
        self.head = nn.Linear(5, 2)

    def forward(self, x):
        token = self.token(x[:, :1, :3])
        return self.head(
            self.block(
                torch.cat(
                    [
                        token,
                        x,
                    ],
                    1,
                )
            )[:, 0]
        )


def test_a_class_token_is_read_also_where_no_layer_tells_the_channels():
    model = Prepending().eval()
    x = torch.randn(9, 64, 5)
    [(values, how)] = feature_matrices(cut_each(model, ["block"], x), x).values()
    torch.testing.assert_close(values, model.token(x[:, 0, :3]))
    assert "at 1 of 65 positions" in how


class EncoderDecoder(nn.Module):
    """Its head reads the last position of the decoder, which asks the encoder by attention."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Embedding(9, 8)
        self.decoder = nn.Linear(8, 8)
        self.head = nn.Linear(8, 4)

    def forward(self, ids):
        x = self.encoder(ids)
        asked = nn.functional.scaled_dot_product_attention(x.flip(1).detach(), x, x)
        return self.head(self.decoder(asked)[:, -1])


def test_positions_of_an_encoder_are_not_those_that_a_decoder_reads():
    cuts = cut_each(
        EncoderDecoder().eval(), ["encoder", "decoder"], torch.randint(1, 9, (9, 12))
    )
    assert [cut.facts.value[0].read for cut in cuts.each] == [
        (),
        (11,),
    ]


@pytest.mark.parametrize("pool", ["bins", "mean"])
def test_examples_of_many_lengths_show_what_the_head_reads(pool):
    """Of equal lengths alone, the last word seems to be a fixed position."""
    torch.manual_seed(0)
    ids = torch.randint(1, 9, (40, 12))
    lengths = torch.tensor([4] * 8 + [7, 12, 3, 9] * 8)
    x = {
        "ids": ids,
        "mask": (torch.arange(12) < lengths[:, None]).long(),
    }
    model = sequence(at_last)
    data = Examples(x, torch.arange(40) % 4)
    found = analyze(
        {2: model()},
        data,
        data,
        [
            [0, 1],
            [2, 3],
        ],
        ["blocks.1"],
        readouts=[Linear(pool=pool)],
    )
    as_read = any("at the last of 12 positions" in note for note in found.notes)
    assert as_read == (pool == "bins")
