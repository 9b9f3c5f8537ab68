"""Accuracy by layer, tasks learned and task, A[l, t, j], of the networks of one training.

`analyze` measures it from models alone, without a study; `asked` checks what it is given; `result`
has what it returns: a matrix like R for each layer and readout, what each layer retained, forgot
and never learned, and where in depth forgetting starts; `text` prints it.
"""
