"""Classifiers that are fitted to a feature in place of the network's own tail.

A feature's values become one matrix (`matrix`); a readout (`readout`) is fitted to that of the
training examples, standardised by their statistics (`standardization`), and predicts the class of
the test examples; `linear` and `lbfgs` are the logistic regression.
"""
