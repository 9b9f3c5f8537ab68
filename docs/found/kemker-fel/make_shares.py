"""Make the feature files of Kemker 2018's check of FEL: MNIST, a share of it non-stationary.

    python docs/found/kemker-fel/make_shares.py DATA OUT

A share of the training images, drawn at random, comes last, sorted by digit: a session
for each. The others come first, in one session of all digits. The test images are dealt
to the sessions, so that together they are all test images. Writes OUT/fel-SHARE.npz,
SHARE in percent. DATA: folder of MNIST, in torchvision's layout.
"""

import sys
from pathlib import Path

import numpy as np

from scenarios.data.image_sets import read_image_set

SHARES = (0, 25, 50, 75, 100)


def sessions(y: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Return the session of each image: 0, or 1 + its digit for a share of the images."""
    rank = np.random.default_rng(seed).permutation(len(y))
    is_ordered = rank < share * len(y)
    numbers = np.where(is_ordered, 1 + y, 0)
    return np.unique(numbers, return_inverse=True)[1]


def main(data: Path, out: Path) -> None:
    """Write a file for each share."""
    images = read_image_set("mnist", data, download=False)
    arrays = {}
    for part, examples in images.items():
        arrays[f"x_{part}"] = examples.x.numpy()
        arrays[f"y_{part}"] = examples.y.numpy()
    for share in SHARES:
        for seed, part in enumerate(images):
            y = arrays[f"y_{part}"]
            arrays[f"task_{part}"] = sessions(y, share / 100, seed)
        np.savez(out / f"fel-{share}.npz", **arrays)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
