"""The scenarios, learners and studies that produce continually trained models."""
