"""The stages of the built-in networks of `scenarios.networks`, whose outputs are the features."""

STAGES = {
    "mlp": "hidden1 hidden2 output",
    "mlp400": "hidden1 hidden2 output",
    "mlp2000": "hidden1 hidden2 output",
    "narrow": "conv1 conv2 hidden1 hidden2 output",
    "cnn3": "conv1 conv2 conv3 output",
    "cnn4": "conv1 conv2 conv3 conv4 output",
    "cnn6": "conv1 conv2 conv3 conv4 dense output",
    "reduced_resnet18": "stem layer1 layer2 layer3 layer4 output",
}
"""The stages by depth, by the name of the network."""
