"""Pages to draw on: our own, or the axes of a user's figure."""
