"""`probe prepare`: feature files from folders in the layouts of CUB-200-2011 and AudioSet."""

import struct

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import models

from scenarios.data.feature_files import read_features
from scenarios.data.image_features import load_network

CUB = ["001.Albatross", "002.Auklet"]
NAMES = ["Speech", "Bark", "Bell, small", "Purr"]


def write_cub(folder):
    """Write five images of two classes; the second and the fifth are test images."""
    draw, lists = (
        np.random.default_rng(0),
        {"images": [], "image_class_labels": [], "train_test_split": []},
    )
    for n, (label, train) in enumerate([(1, 1), (1, 0), (2, 1), (2, 1), (2, 0)], 1):
        path = f"{CUB[label - 1]}/Bird_{n:04}.jpg"
        (folder / "images" / path).parent.mkdir(parents=True, exist_ok=True)
        pixels = draw.integers(0, 256, (40 + n, 50, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / "images" / path)
        for name, value in zip(lists, (path, label, train), strict=True):
            lists[name].append(f"{n} {value}")
    lists["classes"] = [f"{n} {name}" for n, name in enumerate(CUB, 1)]
    for name, lines in lists.items():
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")


@pytest.fixture
def cub(cwd):
    write_cub(cwd / "CUB")
    return cwd / "CUB"


def test_cub_by_resnet50_is_a_plain_forward_pass_with_the_official_split(
    probe, cub, cwd
):
    code, out, err = probe(
        "prepare cub200 CUB --out cub.npz --weights random --device cpu"
    )
    assert (code, err) == (0, "")
    assert "2048 features of 3 training and 2 test images" in out
    train, test, classes = read_features(cwd / "cub.npz")
    assert (train.y.tolist(), test.y.tolist(), classes) == ([0, 1, 1], [0, 1], 2)
    assert np.load(cwd / "cub.npz")["class_names"].tolist() == CUB
    network = load_network("resnet50", "random")
    network.fc = torch.nn.Identity()
    prepare = models.get_model_weights("resnet50").DEFAULT.transforms()
    with torch.no_grad():
        picture = Image.open(cub / "images" / CUB[1] / "Bird_0005.jpg")
        expected = network(prepare(picture)[None])
    torch.testing.assert_close(test.x[1:], expected, rtol=1e-4, atol=1e-5)


def test_cub_takes_features_made_elsewhere(probe, cub, cwd):
    np.save(cwd / "made.npy", np.arange(10.0).reshape(5, 2))
    assert probe("prepare cub200 CUB --out cub.npz --features made.npy")[0] == 0
    assert read_features(cwd / "cub.npz")[1].x.tolist() == [[2, 3], [8, 9]]


CUB_FAULTS = {
    "a missing split": (
        lambda f: (f / "train_test_split.txt").unlink(),
        "train_test_split.txt",
    ),
    "a wrong count": (
        lambda f: (f / "images.txt").write_text("1 a/b.jpg\n"),
        "(1, 5 and 5)",
    ),
    "a number twice": (
        lambda f: (f / "classes.txt").write_text("1 a\n1 b\n"),
        "on two lines",
    ),
    "another class": (
        lambda f: (f / "classes.txt").write_text("1 a\nx b\n"),
        "class '2'",
    ),
    "no test image": (
        lambda f: (f / "train_test_split.txt").write_text("1 1\n2 1\n3 1\n4 1\n5 1\n"),
        "expected 0 and 1, see '0'",
    ),
    "a missing image": (
        lambda f: (f / "images" / CUB[0] / "Bird_0001.jpg").unlink(),
        "Bird_0001",
    ),
}


@pytest.mark.parametrize("name", CUB_FAULTS)
def test_folders_that_are_not_cub_are_refused(name, probe, cub, cwd):
    damage, named = CUB_FAULTS[name]
    damage(cub)
    code, _, err = probe(
        "prepare cub200 CUB --out cub.npz --weights random --device cpu"
    )
    assert code == 2
    assert named in err
    np.save(cwd / "made.npy", np.zeros((4, 2)))
    assert probe("prepare cub200 CUB --out cub.npz --features made.npy")[0] == 2
    assert not (cwd / "cub.npz").exists()


def varint(number):
    """Encode a number as protocol buffers do."""
    more = number >> 7
    return bytes([number & 127 | (128 if more else 0)]) + (
        varint(more) if more else b""
    )


def field(number, value):
    """Encode a field of bytes, or of a number."""
    if isinstance(value, int):
        return varint(8 * number) + varint(value)
    return varint(8 * number + 2) + varint(len(value)) + value


def sequence_example(labels, seconds, packed):
    """Encode a SequenceExample with labels and an embedding for each second."""
    numbers = (
        field(1, b"".join(map(varint, labels)))
        if packed
        else b"".join(field(1, n) for n in labels)
    )
    context = field(1, field(1, b"video_id") + field(2, field(1, field(1, b"abc"))))
    context += field(1, field(1, b"labels") + field(2, field(3, numbers)))
    frames = b"".join(field(1, field(1, field(1, bytes(second)))) for second in seconds)
    return field(1, context) + field(
        2, field(1, field(1, b"audio_embedding") + field(2, frames))
    )


def write_records(path, messages):
    path.parent.mkdir(parents=True, exist_ok=True)
    records = [struct.pack("<Q", len(m)) + bytes(4) + m + bytes(4) for m in messages]
    path.write_bytes(b"".join(records))


@pytest.fixture
def audioset(cwd):
    """Write samples of three classes, some of which are not to be used."""
    folder, draw = cwd / "audioset", np.random.default_rng(0)
    clips = draw.integers(0, 256, (8, 10, 128), dtype=np.uint8)
    for split, first in (("bal_train", 0), ("unbal_train", 2), ("eval", 4)):
        messages = [
            sequence_example([0], clips[first], packed=True),
            sequence_example([300, 2], clips[first + 1], packed=False),
            sequence_example([0, 2], clips[6], packed=True),  # two of the classes
            sequence_example([1], clips[7], packed=True),  # none of them
            sequence_example([0], clips[7][:9], packed=True),  # nine seconds
        ]
        write_records(folder / split / "aa.tfrecord", messages)
    rows = [f'{n},/m/{n},"{name}"' for n, name in enumerate(NAMES)]
    head = "index,mid,display_name"
    (folder / "class_labels_indices.csv").write_text("\n".join([head, *rows]) + "\n")
    (cwd / "classes.txt").write_text("Bell, small\n/m/0\n")
    return folder, clips


def test_audioset_keeps_the_samples_of_one_class_in_order(probe, audioset, cwd):
    clips = audioset[1]
    code, out, err = probe(
        "prepare audioset audioset --classes classes.txt --out audio.npz"
    )
    assert (code, err) == (0, "")
    assert "4 training and 2 test samples of 2 classes" in out
    train, test, _ = read_features(cwd / "audio.npz")
    assert (train.y.tolist(), test.y.tolist()) == ([1, 0, 1, 0], [1, 0])
    assert torch.equal(train.x, torch.from_numpy(clips[:4].reshape(4, 1280)).float())
    assert torch.equal(test.x, torch.from_numpy(clips[4:6].reshape(2, 1280)).float())
    with np.load(cwd / "audio.npz") as file:
        assert file["x_train"].dtype == np.uint8
        assert file["class_names"].tolist() == ["Bell, small", "Speech"]


AUDIO_FAULTS = {
    "a missing split": (lambda f: (f / "eval" / "aa.tfrecord").unlink(), "eval"),
    "a truncated file": (lambda f: cut(f / "eval" / "aa.tfrecord"), "aa.tfrecord"),
    "no SequenceExample": (
        lambda f: write_records(f / "eval" / "aa.tfrecord", [b"\x08\x01"]),
        "aa",
    ),
    "another class list": (
        lambda f: (f.parent / "classes.txt").write_text("Bell\nBark\n"),
        "'Bell'",
    ),
    "a class without samples": (
        lambda f: (f.parent / "classes.txt").write_text("0\n/m/3\n"),
        "'Purr'",
    ),
    "a class named twice": (
        lambda f: (f.parent / "classes.txt").write_text("0\n/m/0\n"),
        "1 class",
    ),
}


def cut(path):
    path.write_bytes(path.read_bytes()[:-9])


@pytest.mark.parametrize("name", AUDIO_FAULTS)
def test_folders_that_are_not_audioset_are_refused(name, probe, audioset, cwd):
    damage, named = AUDIO_FAULTS[name]
    damage(audioset[0])
    code, _, err = probe(
        "prepare audioset audioset --classes classes.txt --out audio.npz"
    )
    assert code == 2
    assert named in err
    assert not (cwd / "audio.npz").exists()


def test_a_preset_refuses_data_that_its_settings_are_not_for(probe, cub, cwd):
    np.save(cwd / "made.npy", np.arange(10.0).reshape(5, 2))
    assert probe("prepare cub200 CUB --out cub200.npz --features made.npy")[0] == 0
    for preset in (
        "kemker-mnist-incremental --dataset cub200.npz",
        "kemker-cub-incremental",
    ):
        code, _, err = probe(f"run {preset} --data . --dry-run")
        assert code == 2
        assert "2 classes of inputs (2,)" in err
