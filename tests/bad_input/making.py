"""What the bad inputs are made of: files that are good but for one thing, and traps."""

import io
import os
import pickle
import struct
import zipfile

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


def study(changes=None):
    """Return a tiny study as TOML, some keys changed or added; None leaves one out.

    A key that is changed takes the place of those below it and above it.
    """
    changes = changes or {}
    kept = {key: STUDY[key] for key in STUDY if not _is_among(key, changes)}
    values = {**changes, **kept}.items()
    return "".join(f"{key} = {value}\n" for key, value in values if value is not None)


def _is_among(key, keys):
    """Return whether a key is one of others, or below or above one."""
    paths = [f"{each}." for each in keys]
    return any(f"{key}.".startswith(p) or p.startswith(f"{key}.") for p in paths)


TINY = study()


class Trap:
    """Creates a file once a pickle of it is run."""

    def __reduce__(self):
        return os.open, (SPRUNG, os.O_CREAT)


TRAP = pickle.dumps(Trap(), protocol=2)


def npy(array, objects=False):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=objects)
    return buffer.getvalue()


def npy_header(shape, descr="'<f8'", data=b""):
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


def npz(changes=None, whole=FEATURES):
    """Return an archive of arrays, some changed; None leaves one out, bytes are stored as such."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in {**whole, **(changes or {})}.items():
            if value is None:
                continue
            if not isinstance(value, bytes):
                value = npy(value, objects=True)
            archive.writestr(f"{name}.npy", value)
    return buffer.getvalue()


def idx(array):
    """Return an array in the format of MNIST's files."""
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()


def picture(size=8, kind="png"):
    buffer = io.BytesIO()
    pixels = np.random.default_rng(0).integers(0, 256, (size, size, 3), np.uint8)
    Image.fromarray(pixels).save(buffer, kind)
    return buffer.getvalue()


def saved(value):
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()
