"""The metrics of the literature, one module per paper, as pure functions of counts and matrices."""
