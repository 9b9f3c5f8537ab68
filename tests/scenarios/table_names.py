"""The files of tables in a run directory."""

TABLES = ("measurements.csv", "summary.csv", "metrics.csv", "learners.csv", "costs.csv")
"""By file name; the same study gives the same bytes."""

LAYERS = (
    "layers.csv",
    "statements.csv",
    "statement_seeds.csv",
    "first_layer.csv",
    "retraining.csv",
    "diagnostics.csv",
    "controls.csv",
)
"""Tables of measurements downstream of features; each is written only if it has rows."""

TIMES = "times.csv"
"""A further one: how long each task took, which no two runs have the same."""

NOTES = "notes.csv"
"""The table of notes; it is written only if there are any."""
