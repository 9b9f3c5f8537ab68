"""Learners with the model before the task as their teacher."""
