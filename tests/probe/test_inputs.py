"""Several inputs, by position or by name, and models that are called in a way of their own."""

import pytest
import torch
from torch import nn

from probe.analysis.statements import STUCK
from probe.cut.cuts import cut_each
from probe.errors import InputError
from probe.examples import Examples, match_inputs
from probe.model import Model
from probe.retrain import partial_retrain, retrain_each
from probe.retraining import RetrainSettings
from probe.seeding import global_stream, stream
from probe.training.recipe import Recipe
from probe.values.allocation import CacheSettings

N, WORDS = 48, 6
TASKS = [[0, 1], [2]]
RECIPE = Recipe(epochs=3, batch_size=16)


class Reader(nn.Module):
    """Reads words and a mask of them; its masks are left out where they mask nothing."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20, 8)
        self.mix = nn.Linear(8, 8)
        self.norm = nn.BatchNorm1d(8)
        self.head = nn.Linear(8, 3)

    def forward(self, ids, mask, skip=False):
        h = torch.tanh(self.mix(self.words(ids)))
        if not (skip and bool(mask.all())):
            h = h * mask[..., None]
        h = h / mask.sum(1)[:, None, None].clamp(min=1)
        return self.head(self.norm(h.sum(1)))


def built():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Reader()


def words():
    draw = stream(0, "words")
    y = torch.arange(N) % 3
    ids = torch.randint(
        3,
        20,
        (N, WORDS),
        generator=draw,
    )
    ids[:, 0] = y
    length = torch.randint(
        2,
        WORDS + 1,
        (N, 1),
        generator=draw,
    )
    return ids, (torch.arange(WORDS) < length).expand(N, WORDS).long().clone(), y


def retrained(x, y, call=None, **given):
    data = Examples(x, y)
    model = Model(built(), call=call)
    return partial_retrain(
        model,
        ["mix", "head"],
        data,
        data,
        TASKS,
        RECIPE,
        **given,
    )


def tables(result):
    return [counts.table.tolist() for counts in result.counts.values()]


WAYS = {
    "by position": lambda ids, mask: ((ids, mask), None),
    "by name": lambda ids, mask: ({"mask": mask, "ids": ids}, None),
    "as it is called": lambda ids, mask: (
        {"text": ids, "there": mask},
        lambda model, x: model(x["text"], x["there"]),
    ),
    "bytes": lambda ids, mask: (
        (ids.to(torch.uint8), mask.bool()),
        lambda model, x: model(x[0].long(), x[1].long()),
    ),
}


@pytest.mark.parametrize(
    ("way", "cache"),
    [
        *zip(
            WAYS,
            ("memory", "file", "recomputed", "memory"),
            strict=True,
        )
    ],
)
def test_the_same_however_the_inputs_are_held(way, cache, tmp_path):
    ids, mask, y = words()
    x, call = WAYS[way](ids, mask)
    folder = tmp_path if cache == "file" else None
    kept = CacheSettings(budget=None if cache == "memory" else 0, scratch=folder)
    got = retrained(
        x,
        y,
        call,
        cache=kept,
    )
    assert tables(got) == tables(retrained((ids, mask), y))
    assert tables(got) != tables(retrained((ids, torch.ones_like(mask)), y))


def test_batches_that_take_another_path_run_the_model_whole():
    """A mask that masks nothing is left out: cut on padded words, trained on others."""
    ids, mask, y = words()
    whole = torch.ones_like(mask)
    tested = Examples({"ids": ids, "mask": mask}, y)
    trained = Examples({"ids": ids, "mask": whole}, y)

    skipping = Model(built(), call=lambda model, x: model(**x, skip=True))
    got = partial_retrain(
        skipping,
        ["norm"],
        trained,
        tested,
        TASKS,
        RECIPE,
    )
    same = partial_retrain(
        skipping,
        ["norm"],
        tested,
        tested,
        TASKS,
        RECIPE,
    )
    assert any("the whole model is run for it" in note for note in got.notes)
    # Two epochs on random words lower no loss, which is noted, and nothing else is.
    assert [note for note in same.notes if STUCK not in note] == []
    plain = partial_retrain(
        built(),
        ["norm"],
        trained,
        tested,
        TASKS,
        RECIPE,
    )
    assert tables(got) == tables(plain)


Y = torch.arange(96) % 4
LEFT = (
    torch.eye(6)[Y] * 2
    + torch.randn(
        96,
        6,
        generator=stream(0),
    )
    / 4
)
RIGHT = torch.randn(
    96,
    6,
    generator=stream(1),
)
ONE = Examples({"left": LEFT, "right": RIGHT}, Y)
OTHER = Examples({"right": RIGHT, "left": LEFT}, Y)
HOW = RetrainSettings(recipe=Recipe(epochs=4, batch_size=16, learning_rate=0.01))


class Twice(nn.Module):
    """One layer for both inputs, so that either's value could serve for the other's."""

    def __init__(self):
        super().__init__()
        self.a, self.out = nn.Linear(6, 16), nn.Linear(32, 4)

    def forward(self, left, right):
        return self.out(
            torch.cat(
                [self.a(left).relu(), self.a(right).relu() / 10],
                1,
            )
        )


@pytest.fixture(name="model")
def made():
    with global_stream(stream(0)):
        return Twice()


def predicted(model, features, data):
    [one] = retrain_each(
        model,
        features,
        data,
        data,
        4,
        HOW,
    )
    return one.predicted


def test_cuts_serve_data_with_their_names_in_another_order(model):
    expected = predicted(
        model,
        ["a#1"],
        ONE,
    )
    for cut_of in (ONE, OTHER):
        cuts = cut_each(
            model,
            ["a#1"],
            cut_of.x,
        )
        for data in (ONE, OTHER):
            assert torch.equal(
                predicted(model, cuts, data),
                expected,
            )


@pytest.mark.parametrize(
    "x",
    [(LEFT, RIGHT), {"left": LEFT}],
    ids=["tuple", "fewer"],
)
def test_cuts_refuse_data_that_are_put_together_otherwise(model, x):
    cuts = cut_each(
        model,
        ["a#1"],
        ONE.x,
    )
    with pytest.raises(InputError, match=r"^the model was cut with x of \{left: "):
        predicted(
            model,
            cuts,
            Examples(x, Y),
        )


def test_inputs_of_one_half_may_be_named_in_another_order():
    named, y = (
        {
            "a": torch.randn(6, 2),
            "b": torch.randn(6, 3),
        },
        torch.arange(6) % 2,
    )
    halves = (Examples(x, y) for x in (named, dict(reversed(named.items()))))
    train, test = match_inputs(*halves)
    assert [*train.x] == [*test.x] == ["b", "a"]
    assert all(torch.equal(train.x[name], x) for name, x in named.items())
