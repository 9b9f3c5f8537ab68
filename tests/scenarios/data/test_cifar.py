"""CIFAR's pickles, taken apart without being run: whole, damaged and hostile ones."""

import os
import pickle
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch

from probe.errors import InputError
from scenarios.data.datasets import Location, load
from scenarios.data.image_files import read_cifar
from tests.bad_input.making import SPRUNG, TRAP, Trap, cifar_batch

IMAGES = np.random.default_rng(0).integers(0, 256, (3, 3072), np.uint8)
BATCH = cifar_batch(IMAGES, [3, 0, 255])


def read(folder, content):
    (folder / "batch").write_bytes(content)
    return read_cifar(folder / "batch")


@pytest.mark.parametrize("key", [b"labels", b"fine_labels"])
def test_a_batch_is_what_unpickling_it_gives(tmp_path, key):
    content = cifar_batch(IMAGES, [3, 0, 255], key)
    run = pickle.loads(content, encoding="bytes")
    images, labels = read(tmp_path, content)
    assert np.array_equal(images.reshape(3, -1), run[b"data"])
    assert np.array_equal(run[b"data"], IMAGES)
    assert labels == run[key] == [3, 0, 255]


def hostile():
    """Return pickles that create a file when they are run, each in a way of its own."""
    call = b"cos\nopen\n(U\x06sprungK\x40tR"
    new = b"cbuiltins\ngetattr\n(cos\nopen\nX\x08\x00\x00\x00__call__tR(U\x06sprungK\x40tR"
    return {
        "alone": TRAP,
        "newest": pickle.dumps(Trap(), protocol=5),
        "oldest": pickle.dumps(Trap(), protocol=0),
        "beside the images": BATCH.replace(b"u.", b"U\x01x" + call + b"u."),
        "as the images": b"\x80\x02}(U\x04data" + call + b"U\x06labels](K\x01eu.",
        "as a label": BATCH.replace(b"K\xffe", call + b"e"),
        "in the array": BATCH.replace(b"NNN", b"NN" + call),
        "instead of the array": BATCH.replace(b"cnumpy\nndarray\n", b"cos\nsystem\n"),
        "by INST": b"(U\x06sprungK\x40ios\nopen\n.",
        "by a method": b"\x80\x02" + new + b".",
        "in a key": b"\x80\x02}(" + call + b"K\x01u.",
        "before the end": call + b"0" + BATCH,
    }


@pytest.mark.parametrize("way", hostile())
def test_no_hostile_batch_runs_its_code(tmp_path, monkeypatch, way):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"^the file names \w+\.\w+, .* and was not run$"):
        read(tmp_path, hostile()[way])
    assert not Path(SPRUNG).exists()
    if way != "instead of the array":  # the negative control: Python's own reader runs it
        with suppress(Exception):
            pickle.loads(hostile()[way], encoding="bytes")
        assert Path(SPRUNG).exists()


@pytest.mark.parametrize(
    "content",
    [
        *(BATCH[:size] for size in (0, 10, 200, len(BATCH) - 1)),
        b"\x80\x02}.",
        b"\x80\x02](K\x01e.",
        BATCH.replace(b"u1", b"f4"),
        BATCH.replace(b"\x00\x0c", b"\x01\x0c"),
        BATCH.replace(b"M\x03\x00", b"M\x04\x00"),
        BATCH.replace(b"tb\x89T", b"tb\x88T"),
        BATCH.replace(b"labels", b"labelz"),
        cifar_batch(IMAGES, [1, 2]),
        BATCH.replace(b"K\xffe", b"U\x011e"),
        b"\x80\x02cnumpy\ndtype\n)\x81.",
        b"\x80\x02\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.",
    ],
)
def test_what_is_no_batch_is_refused(tmp_path, content):
    with pytest.raises(
        InputError, match=r"^batch (is damaged: \w+|does not hold images of 32 x 32)"
    ):
        read(tmp_path, content)


@pytest.mark.parametrize("memory", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_any_byte_changed_leaves_a_batch_or_a_sentence(tmp_path, monkeypatch, memory):
    """The frame of the array is changed byte by byte, in five ways each.

    memory: the changes that make an opcode of which Python's reader takes gigabytes, LONG_BINPUT.
    """
    monkeypatch.chdir(tmp_path)
    array, seen = BATCH.index(IMAGES.tobytes()), 0
    for at in [*range(array), *range(array + IMAGES.size, len(BATCH))]:
        for change in (1, 2, 16, 64, 255):
            content = bytearray(BATCH)
            content[at] ^= change
            if (content[at] == ord("r")) != memory:
                continue
            seen += 1
            # They are all alike, and each takes its time.
            if memory and seen % 4 != 1:
                continue
            try:
                images, labels = read(tmp_path, bytes(content))
            except InputError:
                continue
            assert len(images) == len(labels)
            assert images.shape[1:] == (3, 32, 32)
    assert set(os.listdir()) <= {"batch"}


@pytest.mark.parametrize("name", ["cifar10", "cifar100"])
def test_the_real_files_give_what_torchvision_gives(name):
    from torchvision import datasets

    folder = Path(os.environ.get("PROBE_DATA") or "/nonexistent")
    cls = getattr(datasets, name.upper())
    if not (folder / cls.base_folder).is_dir():
        pytest.skip("PROBE_DATA names no folder with CIFAR")
    found = load(name, Location(folder)).test
    theirs = cls(str(folder), train=False)
    assert torch.equal(
        (found.x * 255).round().byte().permute(0, 2, 3, 1), torch.tensor(theirs.data)
    )
    assert found.y.tolist() == theirs.targets
