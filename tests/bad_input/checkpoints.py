"""Weights and images that `probe features` cannot use."""

import io
import pickle
import zipfile
import zlib
from collections import OrderedDict

import torch
from torch import nn

from tests.bad_input.making import TRAP, Trap, gzipped, npy, picture, saved

NETWORK = "shufflenet_v2_x0_5"


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

UNREAD = "holds no state dict that can be read without running code of the file: write it with"
OTHER = "holds no state dict, tensors by name, but"
WEIGHTS = {
    **{
        f"{name}.pt": [f"{name}.pt {UNREAD} torch.save(model.state_dict(), FILE)"]
        for name in (
            *("cut", "half", "empty", "text", "gzip", "npy", "zip", "module", "own-module"),
            *("trap", "trap-torch", "trap-zip", "trap-entry", "trap-legacy"),
        )
    },
    "folder.pt": ["there is no file of weights folder.pt", "give its path, or default or random"],
    "keys.pt": ["the weights in keys.pt are not those of torchvision's", "name the network"],
    **{
        f"{name}.pt": [f"{name}.pt {OTHER} {held}: write it with torch.save"]
        for name, held in {
            "list": "list",
            "none": "NoneType",
            "tensor": "Tensor",
            "nothing": "a table of nothing",
            "nested": "a table of model, epoch",
            "numbers": "a table of 0",
            "ordered": "a table of a",
            "scalar": "a table of w",
            "rows": "a table of w",
            "huge-rows": "a table of w",
        }.items()
    },
}
MISTAKES = {
    f"features ok --network {NETWORK} --out out.npz --weights {name}": said
    for name, said in WEIGHTS.items()
} | {
    "features ok --network shufflenet_v2_x0_5 --out out.npz --weights absent.pt": [
        "there is no file of weights absent.pt (No such file or",
        "give its path, or default or random",
    ],
    "features ok --network shufflenet_v2_x0_5 --out out.npz --weights ''": [
        "there is no file of weights . (Is a directory)",
        "give its path, or default or random",
    ],
    "features ok --network shufflenet_v2_x0_5 --out out.npz --weights Default": [
        "there is no file of weights Default (No such file or",
        "give its path, or default or random",
    ],
    "features ok --network shufflenet_v2_x0_5 --out out.npz": [
        "the file of torchvision's weights of shufflenet_v2_x0_5 in",
        "remove it",
    ],
    "features ok --network mnasnet0_5 --out out.npz --weights default": [
        "the file of torchvision's weights of mnasnet0_5 in",
        "remove it",
    ],
    "features bomb --network shufflenet_v2_x0_5 --out out.npz --weights random": [
        "bomb/train/a/1.png cannot be read as an image (it is larger",
        "replace or remove it",
    ],
    "features cut --network shufflenet_v2_x0_5 --out out.npz --weights random": [
        "cut/train/a/1.jpg cannot be read as an image (image file is",
        "replace or remove it",
    ],
    "features cut-png --network shufflenet_v2_x0_5 --out out.npz --weights random": [
        "cut-png/train/a/1.png cannot be read as an image (image",
        "replace or remove it",
    ],
    "features no-classes --network shufflenet_v2_x0_5 --out out.npz --weights random": [
        "no-classes/train is no folder of images by class (Couldn't",
        "put the images of each class into a folder of its own",
    ],
    "features no-images --network shufflenet_v2_x0_5 --out out.npz --weights random": [
        "no-images/train is no folder of images by class (Found no",
        "put the images of each class into a folder of its own",
    ],
    "features no-test --network shufflenet_v2_x0_5 --out out.npz --weights random": [
        "there is no folder no-test/test",
        "give one that holds train/CLASS/* and test/CLASS/*",
    ],
    "features no-train --network shufflenet_v2_x0_5 --out out.npz --weights random": [
        "there is no folder no-train/train",
        "give one that holds train/CLASS/* and test/CLASS/*",
    ],
    "features none --network shufflenet_v2_x0_5 --out out.npz --weights random": [
        "none/train/a/1.png cannot be read as an image (it is of no",
        "replace or remove it",
    ],
    "features one-class --network shufflenet_v2_x0_5 --out out.npz --weights random": [
        "one-class has a single class, a, of which nothing can be",
        "give two or more",
    ],
    "features only-test --network shufflenet_v2_x0_5 --out out.npz --weights random": [
        "in only-test only test has the classes b: give train and test the same folders"
    ],
    "features only-train --network shufflenet_v2_x0_5 --out out.npz --weights random": [
        "in only-train only train has the classes b",
        "give train and test the same folders",
    ],
    "features pickle --network shufflenet_v2_x0_5 --out out.npz --weights random": [
        "pickle/train/a/1.png cannot be read as an image (it is of",
        "replace or remove it",
    ],
    "features renamed --network shufflenet_v2_x0_5 --out out.npz --weights random": [
        "renamed/train is no folder of images by class (Found no",
        "put the images of each class into a folder of its own",
    ],
    "features text --network shufflenet_v2_x0_5 --out out.npz --weights random": [
        "text/train/a/1.png cannot be read as an image (it is of no",
        "replace or remove it",
    ],
    "features wide --network shufflenet_v2_x0_5 --out out.npz --weights random": [
        "wide/train/a/1.png cannot be read as an image (it is larger",
        "replace or remove it",
    ],
    "features ok/train --network shufflenet_v2_x0_5 --out out.npz --weights random": [
        "there is no folder ok/train/train",
        "give one that holds train/CLASS/* and test/CLASS/*",
    ],
    "features empty.pt --network shufflenet_v2_x0_5 --out out.npz --weights random": [
        "there is no folder empty.pt/train",
        "give one that holds train/CLASS/* and test/CLASS/*",
    ],
}
