"""Make the feature file of van de Ven, Tuytelaars and Tolias 2022's Split CIFAR-100.

    python docs/found/vandeven/make_features.py DATA cifar100-features.npz [EPOCHS]

Their convolutional layers, trained here on CIFAR-10 (Adam at 0.001, batches of 256,
each image mirrored with probability 1/2), are frozen; a feature is the output of the
last of them on an image of CIFAR-100, not standardised. DATA: folder of both image
sets, in torchvision's layout.
"""

import sys
import time
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from probe.examples import Examples
from scenarios.data.feature_files import write_features
from scenarios.data.image_sets import read_image_set

WIDTHS = (16, 32, 64, 128, 256)


def main(data: Path, out: Path, epochs: int = 10) -> None:
    """Train the network on CIFAR-10, and write its features of CIFAR-100."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    cifar10 = read_image_set("cifar10", data, download=False)
    convolutions, dense = make_network()
    network = nn.Sequential(convolutions, dense).to(memory_format=torch.channels_last)
    train(network, cifar10["train"], epochs)
    print(
        f"CIFAR-10 test accuracy {accuracy(convolutions, dense, cifar10['test']):.4f}"
    )
    cifar100 = read_image_set("cifar100", data, download=False)
    halves = {
        half: features_of(convolutions, images) for half, images in cifar100.items()
    }
    write_features(out, halves["train"], halves["test"])
    print(f"{tuple(halves['train'].x.shape)} training features")


def make_network() -> tuple[nn.Sequential, nn.Linear]:
    """Return the convolutional layers, which map images to 1,024 features, and a linear layer."""
    layers: list[nn.Module] = []
    for depth, (inputs, outputs) in enumerate(zip((3, *WIDTHS), WIDTHS, strict=False)):
        convolution = nn.Conv2d(
            inputs, outputs, 3, stride=min(depth, 1) + 1, padding=1, bias=False
        )
        layers += [convolution, nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers, nn.Flatten()), nn.Linear(WIDTHS[-1] * 2 * 2, 10)


def train(network: nn.Module, examples: Examples, epochs: int) -> None:
    """Train a network, and leave it in eval mode."""
    optimizer = torch.optim.Adam(network.parameters(), lr=0.001)
    start = time.monotonic()
    for epoch in range(epochs):
        for batch in torch.randperm(len(examples)).split(256):
            images = examples.x[batch]
            mirrored = torch.where(
                torch.rand(len(batch), 1, 1, 1) < 0.5, images, images.flip(-1)
            )
            loss = functional.cross_entropy(network(mirrored), examples.y[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(
            f"epoch {epoch + 1}: loss {loss:.3f}, {time.monotonic() - start:.0f} s",
            flush=True,
        )
    network.eval()


@torch.inference_mode()
def features_of(convolutions: nn.Module, examples: Examples) -> Examples:
    """Return the outputs of the last convolution (N, 1024) in place of images."""
    features = [convolutions(images) for images in examples.x.split(1000)]
    return Examples(torch.cat(features), examples.y)


@torch.inference_mode()
def accuracy(convolutions: nn.Module, dense: nn.Module, examples: Examples) -> float:
    """Return the share of examples that are classified correctly."""
    scores: Tensor = dense(features_of(convolutions, examples).x)
    return (scores.argmax(1) == examples.y).float().mean().item()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:]))
