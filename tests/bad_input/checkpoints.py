"""Weights and images that `probe features` cannot use."""

import pickle
import zlib

import torch

from tests.bad_input.making import TRAP, Trap, picture, saved
from tests.bad_input.refused import each

FEATURES = "features {} --network shufflenet_v2_x0_5 --out out.npz --weights random"
WEIGHTS = "features ok --network shufflenet_v2_x0_5 --out out.npz --weights {}"
NETWORK = "features full --network {} --out {} --weights random"


def vast(side: int) -> bytes:
    """Return a small file of a picture that says how large it is."""
    header = b"IHDR" + side.to_bytes(4, "big") * 2 + picture()[24:29]
    return picture()[:12] + header + zlib.crc32(header).to_bytes(4, "big") + picture()[33:]


IMAGES = {
    "ok": picture(),
    "cut": picture(64)[:-2000],
    "none": b"",
    "pickle": TRAP,
    "bomb": vast(60000),
}
FILES = {
    **{f"{n}/train/a/1.png": content for n, content in IMAGES.items()},
    **{
        f"{n}/{rest}.png": picture()
        for n in IMAGES
        for rest in ("train/b/1", "test/a/1", "test/b/1")
    },
    "trap.pt": TRAP,
    "trap-torch.pt": saved(Trap()),
    "trap-entry.pt": saved({"w": torch.ones(2, 2), "x": Trap()}),
    "trap-legacy.pt": pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2) + TRAP + TRAP,
    "keys.pt": saved({"w": torch.ones(2, 2)}),
    "nested.pt": saved({"model": {"w": torch.ones(2)}, "epoch": 3}),
    "huge-rows.pt": saved({"w": torch.ones(1).expand(2**40, 1)}),
    "no-test/train/a/1.png": picture(),
    "one-class/train/a/1.png": picture(),
    "one-class/test/a/1.png": picture(),
    "only-train/train/a/1.png": picture(),
    "only-train/train/b/1.png": picture(),
    "only-train/test/a/1.png": picture(),
    "hub/checkpoints/shufflenetv2_x0.5-f707e7126e.pth": TRAP,
}
MISTAKES = {
    **each(
        WEIGHTS,
        "{} ...: write it with torch.save(model.state_dict(), FILE)",
        *("trap.pt", "trap-torch.pt", "trap-entry.pt", "trap-legacy.pt", "huge-rows.pt"),
    ),
    **each(WEIGHTS, "{} do not fit torchvision's", "keys.pt", "nested.pt"),
    WEIGHTS.format("absent.pt"): "there is no file of weights absent.pt...default or random",
    WEIGHTS.format("default"): "weights of shufflenet_v2_x0_5 (...remove its file in",
    **each(
        FEATURES,
        "{}/train/a/1.png is no image (...replace or remove it",
        *("cut", "none", "pickle", "bomb"),
    ),
    FEATURES.format("no-test"): "no-test/test is not a folder of images by class...train/CLASS/*",
    FEATURES.format(
        "one-class"
    ): "one-class has the classes a in train and a in test: give...two or more",
    FEATURES.format(
        "only-train"
    ): "only-train has the classes a, b in train and a in test: give both the same",
    NETWORK.format("resnet", "a.npz"): "unknown network of torchvision 'resnet'...did you mean",
    NETWORK.format("resnet18", "no/a.npz"): "--out expects NAME.npz in a folder that",
}
