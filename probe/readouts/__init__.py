"""Classifiers that are fitted to a feature in place of the network's own tail.

A feature's values become one matrix (`matrix`). A readout (`readout`) is fitted to the
matrix of the training examples, standardized by its statistics (`standardization`), and
predicts the classes of the test examples. `linear` and `lbfgs` implement logistic
regression.
"""

WIDE = 512
"""The largest size of an example's value that is flattened and not pooled."""
