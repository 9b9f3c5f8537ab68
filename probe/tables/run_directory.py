"""The names of the tables that a study writes into its run directory."""

TABLES = ("rows.csv", "summary.csv", "metrics.csv", "learners.csv", "costs.csv")
"""By file name; the same study gives the same bytes."""

LAYERS = ("layers.csv", "starts.csv", "retraining.csv", "diagnostics.csv")
"""What was measured behind features beside the last PRA; each is there only if it has rows."""

TIMES = "times.csv"
"""A further one: how long each task took, which no two runs have the same."""

NOTES = "notes.csv"
"""What has to be known to read them; it is there only if there is anything."""
