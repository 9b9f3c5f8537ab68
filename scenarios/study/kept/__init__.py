"""What a job keeps on disk: measurements, checkpoints to go on from, corrupt files set aside."""
