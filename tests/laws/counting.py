"""Confusion counts of a network, as the tests of several rooms need them."""

from probe.metrics.counts import Counts
from probe.training.evaluation import predict_each


def evaluate(logits, examples, classes, batch_size=None):
    """Count predictions over all examples: the largest of K = classes logits."""
    predicted = predict_each(logits, examples, classes, {"": None}, batch_size)[0][""]
    return Counts.of(examples.y.cpu().numpy(), predicted.cpu().numpy(), classes)
