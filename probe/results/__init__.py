"""Results: tables, analyses and run directories, computed from stored predictions.

`predictions` holds the predictions of a plan's jobs, `tables` makes all tables of them,
and `analysis` holds these tables. `analyze` measures networks and returns an analysis,
and `load` reads an analysis back.
"""
