"""What the bad inputs are made of: files that are good but for one thing, and traps."""

from __future__ import annotations

import io
import os
import pickle
import struct
import zipfile
from collections.abc import Mapping

import numpy as np
import torch
from PIL import Image

SPRUNG = "sprung"  # the file that a trap creates when its pickle is run

STUDY = {
    "orders": '"none"',
    "scenario.data": '"digits"',
    "scenario.train_limit": "5",
    "network.name": '"mlp"',
    "training.epochs": "1",
    "learners.finetune": "{}",
    "learners.offline": "{}",
}


def study(changes: Mapping[str, str | None] | None = None) -> str:
    """Return a tiny study as TOML, some keys changed or added; None leaves one out.

    A key that is changed takes the place of those below it and above it.
    """
    changes = changes or {}
    kept = {
        key: value
        for key, value in STUDY.items()
        if not any(f"{key}.".startswith(f"{c}.") or c.startswith(f"{key}.") for c in changes)
    }
    lines = [f"{key} = {value}" for key, value in {**changes, **kept}.items() if value is not None]
    return "\n".join([*lines, ""])


TINY = study()


class Trap:
    """Creates a file once a pickle of it is run."""

    def __reduce__(self):
        return os.open, (SPRUNG, os.O_CREAT)


TRAP = pickle.dumps(Trap(), protocol=2)


def npy(array, objects: bool = False) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=objects)
    return buffer.getvalue()


def npy_header(shape: str, descr: str = "'<f8'", data: bytes = b"") -> bytes:
    """Return a .npy whose header says what it likes."""
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header) + 1) + header + b"\n" + data


FEATURES = {
    "x_train": np.eye(4, dtype=np.float32),
    "y_train": np.array([0, 1, 2, 3]),
    "x_test": np.eye(4, dtype=np.float32),
    "y_test": np.array([0, 1, 2, 3]),
}


def npz(changes: Mapping[str, object] | None = None, whole: Mapping = FEATURES) -> bytes:
    """Return an archive of arrays, some changed; None leaves one out, bytes are stored as such."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in {**whole, **(changes or {})}.items():
            if value is not None:
                stored = value if isinstance(value, bytes) else npy(value, objects=True)
                archive.writestr(f"{name}.npy", stored)
    return buffer.getvalue()


def idx(array) -> bytes:
    """Return an array in the format of MNIST's files."""
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()


def cifar_batch(images, labels, key: bytes = b"labels") -> bytes:
    """Return a batch as Python 2 pickled the published ones."""
    shape = b"".join(b"M" + struct.pack("<H", size) for size in images.shape)
    array = b"".join(
        (
            b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85U\x01btR",
            b"(K\x01(" + shape + b"tcnumpy\ndtype\n(U\x02u1K\x00K\x01tR",
            b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89",
            b"T" + struct.pack("<i", images.size) + images.tobytes() + b"tb",
        )
    )
    numbers = b"](" + b"".join(b"K" + bytes([label]) for label in labels) + b"e"
    named = b"U" + bytes([len(key)]) + key + numbers
    return b"\x80\x02}(U\x04data" + array + named + b"u."


def picture(size: int = 8, kind: str = "png") -> bytes:
    buffer = io.BytesIO()
    pixels = np.random.default_rng(0).integers(0, 256, (size, size, 3), np.uint8)
    Image.fromarray(pixels).save(buffer, kind)
    return buffer.getvalue()


def saved(value: object) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()
