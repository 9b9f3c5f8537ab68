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
    draw = np.random.default_rng(0)
    lists = {"images": [], "image_class_labels": [], "train_test_split": []}
    images = [(1, 1), (1, 0), (2, 1), (2, 1), (2, 0)]
    for n, (label, train) in enumerate(images, 1):
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
    # Each list has an order of its own: lines are told apart by the image's number.
    for name in ("image_class_labels", "train_test_split"):
        path = cub / f"{name}.txt"
        lines = path.read_text().splitlines()
        lines.reverse()
        path.write_text("\n".join(lines))
    np.save(cwd / "made.npy", np.arange(10.0).reshape(5, 2))
    assert probe("prepare cub200 CUB --out cub.npz --features made.npy")[0] == 0
    train, test, _ = read_features(cwd / "cub.npz")
    assert test.x.tolist() == [[2, 3], [8, 9]]
    assert (train.y.tolist(), test.y.tolist()) == ([0, 1, 1], [0, 1])


SPLIT = "train_test_split.txt"
ALL_TRAINING = b"1 1\n2 1\n3 1\n4 1\n5 1\n"
# The file, its content (None = it is missing), and what the refusal names.
CUB_FAULTS = [
    (SPLIT, None, SPLIT),
    ("images.txt", b"1 a/b.jpg\n", "(1, 5 and 5)"),
    ("classes.txt", b"1 a\n1 b\n", "on two lines"),
    ("classes.txt", b"1 a\nx b\n", "class '2'"),
    (SPLIT, ALL_TRAINING, "expected 0 and 1, see '0'"),
    (f"images/{CUB[0]}/Bird_0001.jpg", None, "Bird_0001"),
]


def damage(path, content):
    path.unlink()
    if content is not None:
        path.write_bytes(content)


@pytest.mark.parametrize(("file", "content", "named"), CUB_FAULTS)
def test_folders_that_are_not_cub_are_refused(file, content, named, probe, cub, cwd):
    damage(cub / file, content)
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
    numbers = b"".join(field(1, n) for n in labels)
    if packed:
        numbers = field(1, b"".join(map(varint, labels)))
    context = field(1, field(1, b"video_id") + field(2, field(1, field(1, b"abc"))))
    context += field(1, field(1, b"labels") + field(2, field(3, numbers)))
    frames = b"".join(field(1, field(1, field(1, bytes(second)))) for second in seconds)
    return field(1, context) + field(
        2, field(1, field(1, b"audio_embedding") + field(2, frames))
    )


def framed(message):
    """Return a message as a record: its length and two checksums around it."""
    return struct.pack("<Q", len(message)) + bytes(4) + message + bytes(4)


@pytest.fixture
def audioset(cwd):
    """Write samples of three classes, some of which are not to be used."""
    folder = cwd / "audioset"
    draw = np.random.default_rng(0)
    clips = draw.integers(0, 256, (8, 10, 128), dtype=np.uint8)
    for split, first in (("bal_train", 0), ("unbal_train", 2), ("eval", 4)):
        messages = [
            sequence_example([0], clips[first], packed=True),
            sequence_example([300, 2], clips[first + 1], packed=False),
            sequence_example([0, 2], clips[6], packed=True),  # two of the classes
            sequence_example([1], clips[7], packed=True),  # none of them
            sequence_example([0], clips[7][:9], packed=True),  # nine seconds
        ]
        (folder / split).mkdir(parents=True)
        (folder / split / "aa.tfrecord").write_bytes(b"".join(map(framed, messages)))
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


AUDIO = "audioset/eval/aa.tfrecord"
AUDIO_FAULTS = [
    (AUDIO, None, "eval"),
    (AUDIO, framed(b"\x08\x01")[:-1], "aa.tfrecord"),
    (AUDIO, framed(b"\x08\x01"), "aa"),
    ("classes.txt", b"Bell\nBark\n", "'Bell'"),
    ("classes.txt", b"0\n/m/3\n", "'Purr'"),
    ("classes.txt", b"0\n/m/0\n", "1 class"),
]


@pytest.mark.parametrize(("file", "content", "named"), AUDIO_FAULTS)
@pytest.mark.usefixtures("audioset")
def test_folders_that_are_not_audioset_are_refused(file, content, named, probe, cwd):
    damage(cwd / file, content)
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
