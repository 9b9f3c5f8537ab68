"""Data folders that are not whole, damaged or hostile; `redundancy` only reads them."""

import struct

import numpy as np

from tests.bad_input.making import TRAP, cifar_batch, gzipped, idx, mnist, npy, npz
from tests.bad_input.refused import each

IMAGES, LABELS = "train-images-idx3-ubyte", "t10k-labels-idx1-ubyte"
PIXELS = np.zeros((20, 28, 28), np.uint8)
CIFAR10 = [*(f"data_batch_{k}" for k in range(1, 6)), "test_batch", "batches.meta"]
BATCH = cifar_batch(np.zeros((2, 3072), np.uint8), [3, 4])
WAVE = np.zeros(400, np.int16)
SPOKEN = {
    "audio": WAVE,
    "offsets": np.array([0, 400]),
    "label": np.array([3]),
    "index": np.array([0]),
    "sample_rate": np.array(8000),
}
TRAPPED = npy(np.array([object()], dtype=object), objects=True)[:-20] + TRAP

MNIST = {
    "absent-labels": {LABELS: None},
    "empty": {IMAGES: b""},
    "cut": {IMAGES: idx(PIXELS)[:-1]},
    "cut-header": {IMAGES: idx(PIXELS)[:10]},
    "longer": {IMAGES: idx(PIXELS) + b"x"},
    "magic": {IMAGES: b"\x00\x00\x0d\x03" + idx(PIXELS)[4:]},
    "swapped": {IMAGES: idx(np.arange(20, dtype=np.uint8)), "train-labels-idx1-ubyte": idx(PIXELS)},
    "halves": {IMAGES: idx(PIXELS[:5])},
    "gzip": {IMAGES: gzipped(idx(PIXELS))},
    "pickle": {IMAGES: TRAP, LABELS: TRAP},
    "text": {LABELS: b"3,4,5\n"},
    "huge": {LABELS: b"\x00\x00\x08\x01" + struct.pack(">I", 2**32 - 1) + b"\x01"},
    "none": {IMAGES: idx(PIXELS[:0]), "train-labels-idx1-ubyte": idx(PIXELS[:0, 0, 0])},
    "classes": {LABELS: idx(np.full(20, 77, np.uint8))},
}
CIFAR = {
    "cifar-hostile": TRAP,
    "cifar-cut": BATCH[:-50],
    "cifar-empty": b"",
    "cifar-other": BATCH,
    "cifar-gzip": gzipped(BATCH),
}
SPEECH = {
    "speech-objects": npz({"audio": np.array([1, "a"], dtype=object)}, SPOKEN),
    "speech-hostile": npz({"label": TRAPPED}, SPOKEN),
    "speech-pickle": TRAP,
    "speech-cut": npz(whole=SPOKEN)[:-30],
    "speech-empty": b"",
    "speech-lacks": npz({"index": None}, SPOKEN),
    "speech-floats": npz({"audio": WAVE.astype(float)}, SPOKEN),
    "speech-rate": npz({"sample_rate": np.array(16000)}, SPOKEN),
    "speech-rate-text": npz({"sample_rate": np.array("fast")}, SPOKEN),
    "speech-rate-nan": npz({"sample_rate": np.array(np.nan)}, SPOKEN),
    "speech-labels": npz({"label": np.array([11])}, SPOKEN),
    "speech-order": npz({"offsets": np.array([400, 0])}, SPOKEN),
    "speech-short": npz({"audio": WAVE[:100], "offsets": np.array([0, 100])}, SPOKEN),
    "speech-one": npz(whole=SPOKEN),
    "speech-wild": npz({"offsets": np.array([0, 2**64 - 1], np.uint64)}, SPOKEN),
}
FILES = {
    **{path: c for folder, changes in MNIST.items() for path, c in mnist(folder, changes).items()},
    **{f"{f}/cifar-10-batches-py/{name}": c for f, c in CIFAR.items() for name in CIFAR10},
    **{f"cifar-hostile/cifar-100-python/{name}": TRAP for name in ("train", "test", "meta")},
    **{f"{folder}/fsdd.npz": content for folder, content in SPEECH.items()},
    "fashion/FashionMNIST/raw/train-images-idx3-ubyte": b"",
    "svhn/train_32x32.mat": b"MATLAB 5.0",
    "svhn/test_32x32.mat": TRAP,
    "folder/MNIST/raw/train-images-idx3-ubyte/x": b"",
    "folder-fsdd/fsdd.npz/x": b"",
    "legacy/MNIST/processed/training.pt": TRAP,
    "legacy/MNIST/processed/test.pt": TRAP,
}
LACKS = "{} is not whole in {{}}, which lacks...point --data at a folder in torchvision's layout"
DAMAGED = "{} cannot be read from {{}}...remove what is damaged and add --download"
WRONG = "{} cannot be read from {{}} (...remove it and add --download"
SPOKEN_DIGITS = "redundancy spoken_digits --data {}"
MISTAKES = {
    **each(
        "redundancy mnist --data {}",
        LACKS.format("mnist"),
        *("absent-labels", "folder", "legacy", "cut/MNIST", "absent"),
    ),
    **each(
        "redundancy mnist --data {}",
        DAMAGED.format("mnist"),
        *("empty", "cut", "cut-header", "longer", "magic", "swapped", "gzip", "pickle", "text"),
        "huge",
    ),
    **each("redundancy mnist --data {}", WRONG.format("mnist"), "halves", "none", "classes"),
    **each("redundancy cifar10 --data {}", DAMAGED.format("cifar10"), *CIFAR),
    **each("redundancy cifar100 --data {}", DAMAGED.format("cifar100"), "cifar-hostile"),
    **each(
        SPOKEN_DIGITS,
        " of {}/fsdd.npz holds Python objects,...write numbers, or for names an array of strings",
        *("speech-objects", "speech-hostile"),
    ),
    **each(
        SPOKEN_DIGITS,
        "{}/fsdd.npz is no whole file of numpy's .npz...write it again with numpy.savez",
        *("speech-pickle", "speech-cut", "speech-empty"),
    ),
    **each(
        SPOKEN_DIGITS,
        "{}/fsdd.npz lacks index (it holds audio, offsets,...write it again with audio, offsets,",
        "speech-lacks",
    ),
    **each(
        SPOKEN_DIGITS,
        "{}/fsdd.npz does not hold the Free Spoken...put the right file there",
        *("speech-floats", "speech-rate", "speech-rate-text", "speech-rate-nan", "speech-labels"),
        *("speech-order", "speech-short", "speech-one", "speech-wild"),
    ),
    **each(
        SPOKEN_DIGITS,
        "spoken_digits needs {}/fsdd.npz, which is not there...put the recordings of the Free",
        "folder-fsdd",
    ),
    **each("redundancy fashion_mnist --data {}", LACKS.format("fashion_mnist"), "fashion", "cut"),
    **each("redundancy svhn --data {}", LACKS.format("svhn"), "cut"),
    **each("redundancy svhn --data {}", WRONG.format("svhn"), "svhn"),
}
