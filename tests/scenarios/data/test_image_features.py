"""`probe features`: real images through torchvision networks, against a plain forward pass."""

import numpy as np
import torch
from PIL import Image
from sklearn.datasets import load_digits, load_sample_images
from torchvision import models

from scenarios.data.feature_files import read_features

COUNTS = {
    "train": 2,
    "test": 1,
}


def write_pictures(folder):
    """Write crops of two photographs, and digits: three classes, in three formats and two modes."""
    china, flower = (np.asarray(image) for image in load_sample_images().images)
    digits = (load_digits().images * 255 / 16).astype(np.uint8)
    for half, start in (("train", 0), ("test", 2)):
        for number in range(start, start + COUNTS[half]):
            column = slice(100 * number, 100 * number + 300)
            for name, pixels in (
                ("flower/{}.jpg", flower[50:350, column]),
                ("China/{}.png", china[50:350, column]),
                ("digit/{}.bmp", digits[number]),
            ):
                path = folder / half / name.format(number)
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(pixels).save(path)


def trained():
    """Return a ShuffleNet of 5 classes whose batch norm has seen inputs."""
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = models.shufflenet_v2_x0_5(num_classes=5).eval()
        # Those of a fresh network would leave nothing of an image.
        for layer in model.modules():
            layer.momentum = 1.0
        model.train()(torch.randn(4, 3, 64, 64))
    return model.eval()


def plain(model, folder, half):
    """Return what reaches the last layer, image by image, and the labels, class by class."""
    prepare = models.ShuffleNet_V2_X0_5_Weights.DEFAULT.transforms()
    seen = []
    hook = model.fc.register_forward_hook(
        lambda layer, inputs, output: seen.append(inputs[0])
    )
    labels = []
    for label, name in enumerate(["China", "digit", "flower"]):
        for path in sorted((folder / half / name).iterdir()):
            with torch.no_grad():
                model(prepare(Image.open(path).convert("RGB")).unsqueeze(0))
            labels.append(label)
    hook.remove()
    return torch.cat(seen), labels


def test_features_are_what_a_plain_forward_pass_gives_the_last_layer(tmp_path, probe):
    model, pictures, path, out = (
        trained(),
        *map(tmp_path.joinpath, ("images", "w.pt", "out.npz")),
    )
    write_pictures(pictures)
    torch.save(model.state_dict(), path)
    before = torch.get_rng_state()
    said = f"{out}: 1024 features of 6 training and 3 test images of 3 classes\n"
    call = (
        f"features {pictures} --network shufflenet_v2_x0_5 --weights {path} --out {out}"
    )
    assert probe(call) == (0, said, "")
    assert torch.equal(torch.get_rng_state(), before)
    assert np.load(out)["class_names"].tolist() == ["China", "digit", "flower"]
    for got, (half, count) in zip(read_features(out)[:2], COUNTS.items(), strict=True):
        x, labels = plain(model, pictures, half)
        assert got.x.shape == (3 * count, 1024)
        assert got.y.tolist() == labels
        torch.testing.assert_close(
            got.x,
            x,
            rtol=1e-4,
            atol=1e-5,
        )
        # Other images give something else.
        assert (x.unsqueeze(0) - x.unsqueeze(1)).norm(dim=2).fill_diagonal_(
            9
        ).min() > 0.01
