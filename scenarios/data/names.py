"""The names of the data sets that `scenarios.data.datasets` loads."""

BUNDLED = ("digits", "breast_cancer")
"""Data sets of scikit-learn, which need no folder."""

IMAGE_SETS = {
    "mnist": ("MNIST", 10),
    "fashion_mnist": ("FashionMNIST", 10),
    "svhn": ("SVHN", 10),
    "cifar10": ("CIFAR10", 10),
    "cifar100": ("CIFAR100", 100),
}
"""torchvision's class and the number of classes, by the name that studies use."""

DATA_SETS = (*BUNDLED, "spoken_digits", *IMAGE_SETS)
"""All data sets known by name."""
