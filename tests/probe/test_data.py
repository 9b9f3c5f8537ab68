"""Data in every form give what `Examples` give, bit for bit."""

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import probe
from probe import Examples
from probe.errors import InputError
from probe.record.data import load_data
from probe.record.recording import read_recording
from probe.tasked_examples import as_examples

N, TASKS = 24, [[0, 1], [2]]
X, Y = (
    torch.randn(N, 4, generator=torch.Generator().manual_seed(0)),
    torch.arange(N) % 3,
)
ONCE = probe.Recipe(epochs=1)

ITEMS = lambda x, y: list(zip(x, y, strict=True))  # noqa: E731
FORMS = {
    "tensors": lambda x, y: (x, y),
    "other labels": lambda x, y: (x, y.to(torch.uint8)),
    "arrays": lambda x, y: (x.numpy(), y.numpy()),
    "arrays of another machine": lambda x, y: (
        x.numpy().astype(">f4"),
        y.numpy().astype(">i2"),
    ),
    "arrays that are views": lambda x, y: (
        x.flip(0).numpy()[::-1],
        y.flip(0).numpy()[::-1],
    ),
    "labels in a list": lambda x, y: (x.numpy(), y.tolist()),
    "a dataset": TensorDataset,
    "a loader": lambda x, y: DataLoader(TensorDataset(x, y), batch_size=7),
    "a list of items": ITEMS,
}


def net():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(4, 8),
        nn.ReLU(),
        nn.Linear(8, 3),
    )


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_one_data_set_in_any_form(form, tmp_path):
    data, plain, model = form(X, Y), Examples(X, Y), net()
    one, other = (
        probe.partial_retrain(model, ["1", "2"], own, own, TASKS, ONCE)
        for own in (data, plain)
    )
    assert one.measured == other.measured
    one, other = (
        probe.analyze(
            {2: model}, own, own, TASKS, ["1"], readouts=["linear"], recipe=ONCE
        )
        for own in (data, plain)
    )
    assert one.to_pandas().equals(other.to_pandas())
    recorder = probe.Recorder(tmp_path, model, data, TASKS, train=data)
    recorder.after_task(2)
    for half in load_data(read_recording(tmp_path).data):
        assert torch.equal(half.x, X)
        assert torch.equal(half.y, Y)


@pytest.mark.parametrize("writeable", [True, False])
def test_arrays_are_not_copied(writeable, recwarn):
    x = X.numpy().copy()
    x.flags.writeable = writeable
    assert as_examples((x, Y), "train").x.data_ptr() == x.ctypes.data
    assert not recwarn


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((X.numpy().astype(object), Y), "train: x has type ndarray"),
        ([(X, Y), (X[:, :2], Y)], r"got float32 \(0, 2\) and float32 \(0, 4\)"),
        ([(X, Y), (X, Y[:3])], "train, task 2: x and y"),
        ((Examples(X, Y), Examples(X, Y)), "train is a tuple of Examples"),
    ],
)
def test_data_in_no_form_are_refused(given, told):
    with pytest.raises(InputError, match=told):
        as_examples(given, "train")
