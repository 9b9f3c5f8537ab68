"""Data folders that are not whole, damaged or hostile; `redundancy` only reads them."""

import struct

import numpy as np

from tests.bad_input.making import TRAP, cifar_batch, gzipped, idx, mnist, npy, npz

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
    **{
        f"{f}/cifar-100-python/{name}": c
        for f, c in CIFAR.items()
        for name in ("train", "test", "meta")
    },
    **{f"{folder}/fsdd.npz": content for folder, content in SPEECH.items()},
    "fashion/FashionMNIST/raw/train-images-idx3-ubyte": b"",
    "svhn/train_32x32.mat": b"MATLAB 5.0",
    "svhn/test_32x32.mat": TRAP,
    "folder/MNIST/raw/train-images-idx3-ubyte/x": b"",
    "folder-fsdd/fsdd.npz/x": b"",
    "legacy/MNIST/processed/training.pt": TRAP,
    "legacy/MNIST/processed/test.pt": TRAP,
}
MISTAKES = {
    "redundancy mnist --data absent-labels": [
        "mnist is not whole in absent-labels, which lacks",
        "point --data at a folder in torchvision's layout, or add",
    ],
    "redundancy mnist --data empty": [
        "mnist cannot be read from empty: train-images-idx3-ubyte",
        "remove what is damaged and add --download",
    ],
    "redundancy mnist --data cut": [
        "mnist cannot be read from cut: train-images-idx3-ubyte",
        "remove what is damaged and add --download",
    ],
    "redundancy mnist --data cut-header": [
        "mnist cannot be read from cut-header:",
        "remove what is damaged and add --download",
    ],
    "redundancy mnist --data longer": [
        "mnist cannot be read from longer: train-images-idx3-ubyte",
        "remove what is damaged and add --download",
    ],
    "redundancy mnist --data magic": [
        "mnist cannot be read from magic: train-images-idx3-ubyte",
        "remove what is damaged and add --download",
    ],
    "redundancy mnist --data swapped": [
        "mnist cannot be read from swapped: train-images-idx3-ubyte",
        "remove what is damaged and add --download",
    ],
    "redundancy mnist --data halves": [
        "mnist cannot be read from halves (5 images and 20 labels,",
        "remove it and add --download",
    ],
    "redundancy mnist --data gzip": [
        "mnist cannot be read from gzip: train-images-idx3-ubyte",
        "remove what is damaged and add --download",
    ],
    "redundancy mnist --data pickle": [
        "mnist cannot be read from pickle: train-images-idx3-ubyte",
        "remove what is damaged and add --download",
    ],
    "redundancy mnist --data text": [
        "mnist cannot be read from text: t10k-labels-idx1-ubyte does",
        "remove what is damaged and add --download",
    ],
    "redundancy mnist --data huge": [
        "mnist cannot be read from huge: t10k-labels-idx1-ubyte",
        "remove what is damaged and add --download",
    ],
    "redundancy mnist --data none": [
        "mnist cannot be read from none (0 images and 0 labels,",
        "remove it and add --download",
    ],
    "redundancy mnist --data classes": [
        "mnist cannot be read from classes (labels up to 77,",
        "remove it and add --download",
    ],
    "redundancy mnist --data folder": [
        "mnist is not whole in folder, which lacks",
        "point --data at a folder in torchvision's layout, or add",
    ],
    "redundancy mnist --data legacy": [
        "mnist is not whole in legacy, which lacks",
        "point --data at a folder in torchvision's layout, or add",
    ],
    "redundancy cifar10 --data cifar-hostile": [
        "cifar10 cannot be read from cifar-hostile:",
        "remove what is damaged and add --download",
    ],
    "redundancy cifar10 --data cifar-cut": [
        "cifar10 cannot be read from cifar-cut:",
        "remove what is damaged and add --download",
    ],
    "redundancy cifar10 --data cifar-empty": [
        "cifar10 cannot be read from cifar-empty:",
        "remove what is damaged and add --download",
    ],
    "redundancy cifar10 --data cifar-other": [
        "cifar10 cannot be read from cifar-other:",
        "remove what is damaged and add --download",
    ],
    "redundancy cifar10 --data cifar-gzip": [
        "cifar10 cannot be read from cifar-gzip:",
        "remove what is damaged and add --download",
    ],
    "redundancy cifar100 --data cifar-hostile": [
        "cifar100 cannot be read from cifar-hostile:",
        "remove what is damaged and add --download",
    ],
    "redundancy spoken_digits --data speech-objects": [
        "audio of speech-objects/fsdd.npz holds Python objects,",
        "write numbers, or for names an array of strings",
    ],
    "redundancy spoken_digits --data speech-hostile": [
        "label of speech-hostile/fsdd.npz holds Python objects,",
        "write numbers, or for names an array of strings",
    ],
    "redundancy spoken_digits --data speech-pickle": [
        "speech-pickle/fsdd.npz is no whole file of numpy's .npz",
        "write it again with numpy.savez",
    ],
    "redundancy spoken_digits --data speech-cut": [
        "speech-cut/fsdd.npz is no whole file of numpy's .npz format",
        "write it again with numpy.savez",
    ],
    "redundancy spoken_digits --data speech-empty": [
        "speech-empty/fsdd.npz is no whole file of numpy's .npz",
        "write it again with numpy.savez",
    ],
    "redundancy spoken_digits --data speech-lacks": [
        "speech-lacks/fsdd.npz lacks index (it holds audio, offsets,",
        "write it again with audio, offsets, label, index,",
    ],
    "redundancy spoken_digits --data speech-floats": [
        "speech-floats/fsdd.npz does not hold the Free Spoken Digit",
        "put the right file there",
    ],
    "redundancy spoken_digits --data speech-rate": [
        "speech-rate/fsdd.npz does not hold the Free Spoken Digit",
        "put the right file there",
    ],
    "redundancy spoken_digits --data speech-rate-text": [
        "speech-rate-text/fsdd.npz does not hold the Free Spoken",
        "put the right file there",
    ],
    "redundancy spoken_digits --data speech-rate-nan": [
        "speech-rate-nan/fsdd.npz does not hold the Free Spoken",
        "put the right file there",
    ],
    "redundancy spoken_digits --data speech-labels": [
        "speech-labels/fsdd.npz does not hold the Free Spoken Digit",
        "put the right file there",
    ],
    "redundancy spoken_digits --data speech-order": [
        "speech-order/fsdd.npz does not hold the Free Spoken Digit",
        "put the right file there",
    ],
    "redundancy spoken_digits --data speech-short": [
        "speech-short/fsdd.npz does not hold the Free Spoken Digit",
        "put the right file there",
    ],
    "redundancy spoken_digits --data speech-one": [
        "speech-one/fsdd.npz does not hold the Free Spoken Digit",
        "put the right file there",
    ],
    "redundancy spoken_digits --data speech-wild": [
        "speech-wild/fsdd.npz does not hold the Free Spoken Digit",
        "put the right file there",
    ],
    "redundancy spoken_digits --data folder-fsdd": [
        "spoken_digits needs folder-fsdd/fsdd.npz, which is not there",
        "put the recordings of the Free Spoken Digit Dataset there,",
    ],
    "redundancy fashion_mnist --data fashion": [
        "fashion_mnist is not whole in fashion, which lacks",
        "point --data at a folder in torchvision's layout, or add",
    ],
    "redundancy fashion_mnist --data cut": [
        "fashion_mnist is not whole in cut, which lacks",
        "point --data at a folder in torchvision's layout, or add",
    ],
    "redundancy svhn --data svhn": [
        "svhn cannot be read from svhn (Dataset not found or",
        "remove it and add --download",
    ],
    "redundancy svhn --data cut": [
        "svhn is not whole in cut, which lacks train_32x32.mat,",
        "point --data at a folder in torchvision's layout, or add",
    ],
    "redundancy mnist --data cut/MNIST": [
        "mnist is not whole in cut/MNIST, which lacks",
        "point --data at a folder in torchvision's layout, or add",
    ],
    "redundancy mnist --data cut/MNIST/raw/train-images-idx3-ubyte": [
        "mnist is not whole in",
        "point --data at a folder in torchvision's layout, or add",
    ],
}
