"""Several inputs, by position or by name, and models that are called in a way of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from probe.batch import Value
from probe.examples import Examples
from probe.model import Model
from probe.retrain import partial_retrain
from probe.retraining import PartialRetraining
from probe.seeding import stream
from probe.training.history import STUCK
from probe.training.recipe import Recipe
from probe.values.allocation import CacheSettings

N, WORDS = 48, 6
TASKS = [[0, 1], [2]]
RECIPE = Recipe(epochs=3, batch_size=16)


class Reader(nn.Module):
    """Reads words and a mask of them; its masks are left out where they mask nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(20, 8)
        self.mix = nn.Linear(8, 8)
        self.norm = nn.BatchNorm1d(8)
        self.head = nn.Linear(8, 3)

    def forward(self, ids: Tensor, mask: Tensor, skip: bool = False) -> Tensor:
        h = torch.tanh(self.mix(self.words(ids)))
        if not (skip and bool(mask.all())):
            h = h * mask[..., None]
        h = h / mask.sum(1)[:, None, None].clamp(min=1)
        return self.head(self.norm(h.sum(1)))


def built() -> Reader:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Reader()


def words(masked: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    draw = stream(0, "words")
    y = torch.arange(N) % 3
    ids = torch.randint(3, 20, (N, WORDS), generator=draw)
    ids[:, 0] = y
    length = torch.randint(2, WORDS + 1, (N, 1), generator=draw) if masked else torch.tensor(WORDS)
    return ids, (torch.arange(WORDS) < length).expand(N, WORDS).long().clone(), y


class Joined(nn.Module):
    """The same reader for one tensor: the words and the mask side by side."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.inner(x[:, :WORDS], x[:, WORDS:])
        return out


def retrained(x: Value, y: Tensor, call: Any = None, **given: Any) -> Any:
    data: Examples[Any] = Examples(x, y)
    model = Model(built(), call=call)
    return partial_retrain(model, ["mix", "head"], data, data, TASKS, RECIPE, **given)


def tables(result: PartialRetraining) -> list[Any]:
    return [counts.table.tolist() for counts in result.counts.values()]


WAYS: dict[str, Callable[[Tensor, Tensor], tuple[Value, Any]]] = {
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


@pytest.mark.parametrize("cache", ["in memory", "memory-mapped", "recomputed"])
@pytest.mark.parametrize("way", WAYS)
def test_the_same_however_the_inputs_are_held(way: str, cache: str, tmp_path: Path) -> None:
    ids, mask, y = words()
    x, call = WAYS[way](ids, mask)
    kept = {
        "in memory": CacheSettings(),
        "memory-mapped": CacheSettings(budget=0, scratch=tmp_path),
        "recomputed": CacheSettings(budget=0),
    }[cache]
    got = retrained(x, y, call, cache=kept)
    features = ["inner.mix", "inner.head"]
    data = Examples(torch.cat([ids, mask], 1), y)
    one = partial_retrain(Joined(built()), features, data, data, TASKS, RECIPE)
    assert got.notes == tuple(note.replace("inner.", "") for note in one.notes)
    # The seeds of a tail hang on its feature's name: the output's needs none.
    assert tables(got)[1] == tables(one)[1]
    again = retrained((ids, mask), y)
    assert tables(got) == tables(again)
    unmasked = retrained((ids, torch.ones_like(mask)), y)
    assert tables(got) != tables(unmasked)


def test_batches_that_take_another_path_run_the_model_whole() -> None:
    """A mask that masks nothing is left out: cut on padded words, trained on others."""
    ids, mask, y = words()
    whole = torch.ones_like(mask)
    tested = Examples({"ids": ids, "mask": mask}, y)
    trained = Examples({"ids": ids, "mask": whole}, y)

    skipping = Model(built(), call=lambda model, x: model(**x, skip=True))
    got = partial_retrain(skipping, ["norm"], trained, tested, TASKS, RECIPE)
    same = partial_retrain(skipping, ["norm"], tested, tested, TASKS, RECIPE)
    assert any("the whole model is run for it" in note for note in got.notes)
    # Two epochs on random words lower no loss, which is noted, and nothing else is.
    assert [note for note in same.notes if STUCK not in note] == []
    plain = partial_retrain(built(), ["norm"], trained, tested, TASKS, RECIPE)
    assert tables(got) == tables(plain)
