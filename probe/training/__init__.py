"""Training: the recipe, the one loop, fresh weights, evaluation and what it costs."""
