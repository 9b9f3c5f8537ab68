"""The figures, one module each."""
