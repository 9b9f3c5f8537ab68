"""Data sets as tensors in memory, and the files they come from."""
