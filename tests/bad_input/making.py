"""What the bad inputs are made of: files that are good but for one thing, and traps."""

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
        if not any(
            f"{key}.".startswith(f"{c}.") or c.startswith(f"{key}.") for c in changes
        )
    }
    lines = [
        f"{key} = {value}"
        for key, value in {**changes, **kept}.items()
        if value is not None
    ]
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
    header = (
        f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    )
    return (
        b"\x93NUMPY\x01\x00"
        + struct.pack("<H", len(header) + 1)
        + header
        + b"\n"
        + data
    )


FEATURES = {
    "x_train": np.eye(4, dtype=np.float32),
    "y_train": np.array([0, 1, 2, 3]),
    "x_test": np.eye(4, dtype=np.float32),
    "y_test": np.array([0, 1, 2, 3]),
}


def npz(
    changes: Mapping[str, object] | None = None, whole: Mapping = FEATURES
) -> bytes:
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


def picture(size: int = 8, kind: str = "png") -> bytes:
    buffer = io.BytesIO()
    pixels = np.random.default_rng(0).integers(0, 256, (size, size, 3), np.uint8)
    Image.fromarray(pixels).save(buffer, kind)
    return buffer.getvalue()


def saved(value: object) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()
