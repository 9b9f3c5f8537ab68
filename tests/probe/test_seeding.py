"""Lent generators, and models that draw by themselves: same seed, same predictions."""

import os
import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from probe.errors import InputError
from probe.examples import Examples
from probe.extensions import MetricEntry, readout
from probe.metrics.matrix import AccuracyMatrix
from probe.readouts.readout import read
from probe.results.scores import user_scores
from probe.retrain import partial_retrain, retrain_each
from probe.retraining import RetrainSettings
from probe.seeding import (
    PROCESS,
    global_states,
    global_stream,
    no_other_draws,
    one_at_a_time,
    stream,
)
from probe.training.recipe import Recipe
from tests.laws.zoo.written import Written

WIDE = {"a": (6, 16), "b": (16, 16), "c": (16, 4)}
Y = torch.arange(96) % 4
RAISES = pytest.raises(InputError, match="another thread")
WARNS = pytest.warns(UserWarning, match="another thread")
DATA = Examples(
    functional.one_hot(Y, 6) + torch.randn(96, 6, generator=stream(0)),
    Y,
)


def by_python(m, x):
    h = m.a(x).relu()
    if not (m.training and random.random() < 0.5):  # layer drop, as some write it
        h = h + m.b(h).relu()
    return m.c(h)


def by_numpy(m, x):
    h = m.b(m.a(x).relu()).relu()
    if m.training:
        h = h * torch.tensor(np.random.rand(16)).float()  # noqa: NPY002
    return m.c(h)


def in_eval_mode(m, x):
    return m.c(
        functional.dropout(
            m.b(m.a(x).relu()).relu(),
            0.5,
            training=True,
        )
    )


def in_training(m, x):
    return m.c(
        functional.dropout(
            m.b(m.a(x).relu()).relu(),
            training=m.training,
        )
    )


def seeded(seed):
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    torch.manual_seed(seed)
    return states()


def states():
    numpys = np.random.get_state()  # noqa: NPY002
    return [
        torch.get_rng_state().tolist(),
        random.getstate(),
        numpys[1].tolist(),
        numpys[2:],
    ]


@pytest.mark.parametrize("run", [by_python, by_numpy, in_eval_mode])
def test_the_same_call_twice_predicts_the_same_and_draws_nothing(
    run,
):
    with global_stream(stream(0)):
        model = Written(run, WIDE)
    how = RetrainSettings(recipe=Recipe(epochs=2, batch_size=16))
    found = []
    for draw in range(2):
        before = seeded(draw)
        [one] = retrain_each(model, ["a"], DATA, DATA, 4, how)
        assert states() == before
        found.append(one.predicted)
    assert torch.equal(*found)


class TwoWays(nn.Module):
    """Skips one of its two ways at random in training; pool: what each way begins with."""

    def __init__(self, pool):
        super().__init__()
        self.pool = pool
        self.stem, self.left, self.right = (
            nn.Conv2d(3, 8, 1),
            nn.Linear(32, 4),
            nn.Linear(32, 4),
        )

    def forward(self, x):
        h = self.stem(x)
        skipped = self.training and random.random() > 0.8
        left = 0 if skipped else self.left(self.pool(h, 2).flatten(1))
        return left + self.right(self.pool(h, 3).flatten(1))


def pooled(h, dim):
    return functional.max_pool2d(h, (4, 1) if dim == 2 else (1, 4))


@pytest.mark.parametrize("seed", range(2))
def test_a_way_that_python_chooses_takes_its_own_values(seed):
    """Of two calls of a function, the second is not served the first's value where that is skipped.

    `amax` gives the same, and is never kept.
    """
    images = Examples(torch.randn(96, 3, 4, 4, generator=stream(1)), Y)
    how = RetrainSettings(recipe=Recipe(epochs=4, batch_size=16, learning_rate=0.01))
    found = []
    for pool in (pooled, torch.amax):
        with global_stream(stream(0)):
            model = TwoWays(pool)
        random.seed(seed)
        found += retrain_each(model, ["stem"], images, images, 4, how)
    assert torch.equal(found[0].predicted, found[1].predicted)


def test_the_global_generator_draws_what_the_stream_says_and_comes_back():
    before = global_states()
    seed = int(torch.randint(2**62, (), generator=stream(3, "dropout")))
    expected = torch.rand(5, generator=torch.Generator().manual_seed(seed))
    drawn = []

    def fail():
        with global_stream(stream(3, "dropout")):
            drawn.append(torch.rand(5))
            raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        fail()
    assert torch.equal(drawn[0], expected)
    assert all(map(torch.equal, before, global_states()))


@pytest.mark.skipif(torch.cuda.is_initialized(), reason="a GPU is in use already")
def test_a_gpu_that_is_used_later_is_not_seeded(
    monkeypatch,
):
    """torch keeps a seed for it until then: it would stay when the block has long ended."""
    seeds = []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeds.append)
    with global_stream(stream(0)):
        pass
    assert not seeds
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(0)
    assert seeds  # which is why torch.manual_seed is not used


def test_threads_give_the_results_of_one_after_the_other():
    with global_stream(stream(0)):
        models = [Written(in_training, WIDE) for _ in range(3)]

    def retrained(model):
        recipe = Recipe(epochs=8, batch_size=16)
        result = partial_retrain(
            model, ["a", "b"], DATA, DATA, [[0, 1], [2, 3]], recipe
        )
        return [
            predictions.predicted.tolist() for predictions in result.measured.values()
        ]

    in_turn, before = list(map(retrained, models)), (states(), torch.get_num_threads())
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(retrained, models)) == in_turn
    assert (states(), torch.get_num_threads()) == before


def test_a_forked_process_is_not_locked_by_a_thread_of_its_parent():
    with ThreadPoolExecutor(1) as pool:
        pool.submit(PROCESS.acquire).result()
        if not (child := os.fork()):
            os._exit(not PROCESS.acquire(timeout=9))
        assert os.waitpid(child, 0)[1] == 0
        pool.submit(PROCESS.release).result()


def test_another_thread_that_draws_is_noticed():
    draws = (int, nullcontext(), nullcontext()), (lambda: torch.rand(1), RAISES, WARNS)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        for draw, raises, warns in draws:
            with raises, no_other_draws():
                pool.submit(draw).result()
            with warns:
                one_at_a_time(lambda draw=draw: pool.submit(draw).result())()


def test_what_a_users_readout_and_metric_draw_and_set_does_not_stay():
    @readout("drawing")
    class Drawing:
        def predict(self, x, y, test, classes):
            torch.set_default_dtype(torch.float64)
            python, numpys = random.randrange(classes), np.random.randint(classes)  # noqa: NPY002
            return (torch.randint(classes, (len(test),)) + python + numpys) % classes

    metric = MetricEntry(
        name="drawn", score=lambda R: random.random() + float(torch.rand(()))
    )
    results = []
    for draw in range(2):
        before = seeded(draw)
        predicted = read(Drawing(), DATA.x, DATA.y, DATA.x, 4).predicted.tolist()
        results.append(
            (predicted, user_scores(AccuracyMatrix([[0.5], [0.5]]), [metric]))
        )
        assert (states(), torch.get_default_dtype()) == (before, torch.float32)
    assert results[0] == results[1]
    Drawing.predict = lambda *_: [][0]  # type: ignore[assignment, method-assign, return-value]
    with pytest.raises(InputError, match="the readout 'drawing' raised IndexError"):
        read(Drawing(), DATA.x, DATA.y, DATA.x, 4)
