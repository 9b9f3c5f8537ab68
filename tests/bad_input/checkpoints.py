"""Weights and images that `probe features` cannot use."""

import io
import pickle
import zipfile
import zlib
from collections import OrderedDict

import torch
from torch import nn

from tests.bad_input.making import TRAP, Trap, gzipped, npy, picture, saved
from tests.bad_input.refused import each

FEATURES = "features {} --network shufflenet_v2_x0_5 --out out.npz --weights random"
WEIGHTS = "features ok --network shufflenet_v2_x0_5 --out out.npz --weights {}"


class Mine(nn.Linear):
    """A class of its own: a whole pickled model names it."""


def member(content: bytes) -> bytes:
    """Return what torch.save writes, with another pickle in it."""
    buffer, whole = io.BytesIO(), zipfile.ZipFile(io.BytesIO(saved({"w": torch.ones(2, 2)})))
    with zipfile.ZipFile(buffer, "w") as archive:
        for entry in whole.namelist():
            archive.writestr(entry, content if entry.endswith("data.pkl") else whole.read(entry))
    return buffer.getvalue()


def vast(side: int) -> bytes:
    """Return a small file of a picture that says how large it is."""
    header = b"IHDR" + side.to_bytes(4, "big") * 2 + picture()[24:29]
    return picture()[:12] + header + zlib.crc32(header).to_bytes(4, "big") + picture()[33:]


GOOD = saved({"w": torch.ones(2, 2)})
FILES = {
    "ok/train/a/1.png": picture(),
    "ok/train/b/1.png": picture(),
    "ok/test/a/1.png": picture(),
    "ok/test/b/1.png": picture(),
    "empty.pt": b"",
    "text.pt": "weights",
    "trap.pt": TRAP,
    "trap-torch.pt": saved(Trap()),
    "trap-zip.pt": member(TRAP),
    "trap-entry.pt": saved({"w": torch.ones(2, 2), "x": Trap()}),
    "trap-legacy.pt": pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2) + TRAP + TRAP,
    "cut.pt": GOOD[:-40],
    "half.pt": GOOD[: len(GOOD) // 2],
    "gzip.pt": gzipped(GOOD),
    "npy.pt": npy([1.0]),
    "zip.pt": member(b"junk"),
    "keys.pt": GOOD,
    "tensor.pt": saved(torch.ones(3)),
    "list.pt": saved([torch.ones(3)]),
    "none.pt": saved(None),
    "nothing.pt": saved({}),
    "nested.pt": saved({"model": {"w": torch.ones(2)}, "epoch": 3}),
    "numbers.pt": saved({0: torch.ones(2, 2)}),
    "scalar.pt": saved({"w": torch.tensor(1.0)}),
    "rows.pt": saved({"w": torch.ones(0, 2)}),
    "huge-rows.pt": saved({"w": torch.ones(1).expand(2**40, 1)}),
    "module.pt": saved(nn.Linear(2, 2)),
    "own-module.pt": saved(Mine(2, 2)),
    "ordered.pt": saved(OrderedDict(a=1)),
    "folder.pt/x": "",
    "no-test/train/a/1.png": picture(),
    "no-train/test/a/1.png": picture(),
    "no-classes/train/1.png": picture(),
    "no-classes/test/1.png": picture(),
    "no-images/train/a/1.txt": "x",
    "no-images/test/a/1.txt": "x",
    "text/train/a/1.png": "no image",
    "text/train/b/1.png": picture(),
    "cut/train/a/1.jpg": picture(64, "jpeg")[:-200],
    "cut/train/b/1.jpg": picture(),
    "cut-png/train/a/1.png": picture(64)[:-2000],
    "cut-png/train/b/1.png": picture(),
    "none/train/a/1.png": b"",
    "none/train/b/1.png": picture(),
    "pickle/train/a/1.png": TRAP,
    "pickle/train/b/1.png": picture(),
    "one-class/train/a/1.png": picture(),
    "one-class/test/a/1.png": picture(),
    "hub/checkpoints/shufflenetv2_x0.5-f707e7126e.pth": TRAP,
    "hub/checkpoints/mnasnet0.5_top1_67.823-3ffadce67e.pth": saved(Trap()),
    "only-train/train/a/1.png": picture(),
    "only-train/train/b/1.png": picture(),
    "only-train/test/a/1.png": picture(),
    "only-test/train/a/1.png": picture(),
    "only-test/test/a/1.png": picture(),
    "only-test/test/b/1.png": picture(),
    "renamed/train/a/1.png/x": "",
    "renamed/test/a/1.png": picture(),
    "bomb/train/a/1.png": vast(60000),
    "bomb/train/b/1.png": picture(),
    "wide/train/a/1.png": vast(11000),
    "wide/train/b/1.png": picture(),
}
BROKEN = ("text", "cut", "cut-png", "none", "pickle", "bomb", "wide")
FILES |= {f"{n}/test/{c}/1.png": picture() for n in BROKEN for c in "ab"}

NO_FILE = "there is no file of weights {}...give its path, or default or random"
NO_IMAGE = "{}/train/a/1.{} cannot be read as an image (...replace or remove it"
NO_FOLDER = "there is no folder {}...give one that holds train/CLASS/* and test/CLASS/*"
NO_CLASSES = (
    "{}/train is no folder of images by class (...put the images of each class into a folder"
)
HUB = "the file of torchvision's weights of {} in...remove it"

MISTAKES = {
    **each(
        WEIGHTS,
        "{} holds no state dict that can be read without running code of the file: write it with "
        "torch.save(model.state_dict(), FILE)",
        *("cut.pt", "half.pt", "empty.pt", "text.pt", "gzip.pt", "npy.pt", "zip.pt", "module.pt"),
        *("own-module.pt", "trap.pt", "trap-torch.pt", "trap-zip.pt", "trap-entry.pt"),
        "trap-legacy.pt",
    ),
    **{
        WEIGHTS.format(f"{name}.pt"): f"{name}.pt holds no state dict, tensors by name, but {kind}"
        for name, kind in (
            ("list", "list: write it with torch.save"),
            ("none", "NoneType"),
            ("tensor", "Tensor"),
            ("nothing", "a table of nothing"),
            ("nested", "a table of model, epoch"),
            ("numbers", "a table of 0"),
            ("ordered", "a table of a"),
            ("scalar", "a table of w"),
            ("rows", "a table of w"),
            ("huge-rows", "a table of w"),
        )
    },
    WEIGHTS.format("keys.pt"): "the weights in keys.pt are not those of torchvision's...name the",
    **each(WEIGHTS, NO_FILE, "folder.pt", "absent.pt", "Default"),
    WEIGHTS.format(
        "''"
    ): "there is no file of weights . (Is a directory): give its path, or default or",
    WEIGHTS.format("default"): HUB.format("shufflenet_v2_x0_5"),
    "features ok --network mnasnet0_5 --out out.npz --weights default": HUB.format("mnasnet0_5"),
    **each(FEATURES, NO_IMAGE.format("{}", "png"), *(name for name in BROKEN if name != "cut")),
    FEATURES.format("cut"): NO_IMAGE.format("cut", "jpg"),
    **each(FEATURES, NO_CLASSES, "no-classes", "no-images", "renamed"),
    FEATURES.format("no-test"): NO_FOLDER.format("no-test/test"),
    **each(FEATURES, NO_FOLDER.format("{}/train"), "no-train", "ok/train", "empty.pt"),
    FEATURES.format("one-class"): "one-class has a single class, a, of which nothing can be...give",
    **{
        FEATURES.format(
            name
        ): f"in {name} {name.replace('-', ' ')} has the classes b: give train and"
        for name in ("only-train", "only-test")
    },
}
