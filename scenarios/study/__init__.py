"""A study: its specification, its jobs, its run directory and their execution."""
