"""Results: tables, analyses and run directories, computed from stored predictions.

`result` turns the predictions of one job into scores, `tables` writes all tables of a
plan, and `analysis` holds these tables. `analyze` measures networks and returns an
analysis, and `load` reads an analysis back.
"""
