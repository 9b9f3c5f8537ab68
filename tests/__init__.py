"""A package, so that a `tests` that another project has installed is not taken for it."""
