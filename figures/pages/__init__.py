"""What figures are drawn on: pages of our own, or the axes of a user's figure."""
