"""Data folders that are not whole, damaged or hostile; `redundancy` only reads them."""

import numpy as np

from tests.bad_input.making import TRAP, cifar_batch, idx, mnist, npy, npz
from tests.bad_input.refused import each

IMAGES, LABELS = "train-images-idx3-ubyte", "t10k-labels-idx1-ubyte"
PIXELS = np.zeros((20, 28, 28), np.uint8)
CIFAR10 = [*(f"data_batch_{k}" for k in range(1, 6)), "test_batch", "batches.meta"]
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
    "hostile": {IMAGES: TRAP, LABELS: TRAP},
    "halves": {IMAGES: idx(PIXELS[:5])},
}
CIFAR = {"cifar-hostile": TRAP, "cifar-cut": cifar_batch(np.zeros((2, 3072), np.uint8), [3, 4])}
SPEECH = {
    "speech-hostile": npz({"label": TRAPPED}, SPOKEN),
    "speech-cut": npz(whole=SPOKEN)[:-30],
    "speech-wild": npz({"offsets": np.array([0, 2**64 - 1], np.uint64)}, SPOKEN),
}
FILES = {
    **{path: c for folder, changes in MNIST.items() for path, c in mnist(folder, changes).items()},
    **{f"{f}/cifar-10-batches-py/{name}": c for f, c in CIFAR.items() for name in CIFAR10},
    **{f"{folder}/fsdd.npz": content for folder, content in SPEECH.items()},
    "svhn/train_32x32.mat": b"MATLAB 5.0",
    "svhn/test_32x32.mat": TRAP,
    "folder-fsdd/fsdd.npz/x": b"",
}
LACKS = "mnist is incomplete in {}, which lacks...torchvision's layout"
WRONG = "{} cannot be read from {{}} (...remove it and add --download"
FSDD = "redundancy spoken_digits --data {}"
MISTAKES = {
    "redundancy mnist": "mnist needs a data folder: pass --data DIR",
    **each("redundancy mnist --data {}", LACKS, "absent-labels", "absent"),
    **each("redundancy mnist --data {}", WRONG.format("mnist"), *list(MNIST)[1:]),
    **each("redundancy cifar10 --data {}", WRONG.format("cifar10"), *CIFAR),
    "redundancy svhn --data svhn": WRONG.format("svhn").format("svhn"),
    FSDD.format("speech-hostile"): "speech-hostile/fsdd.npz is not a complete...Object arrays",
    FSDD.format("speech-cut"): "speech-cut/fsdd.npz is not a complete .npz file",
    FSDD.format("speech-wild"): "speech-wild/fsdd.npz does not hold the Free",
    FSDD.format("folder-fsdd"): "spoken_digits needs folder-fsdd/fsdd.npz, which is not there",
}
