"""The tables of a run directory, by the names of their files."""

TABLES = ("rows.csv", "summary.csv", "metrics.csv", "learners.csv", "costs.csv")
"""Those that are the same bytes whenever the same study is run."""

TIMES = "times.csv"
"""How long each task took to learn, which no two runs have the same."""
