"""Results: tables, analyses and run directories, computed from stored counts.

`result` turns the counts of one job into scores, `tables` writes all tables of a plan, `analysis`
holds them, `analyze` measures networks and returns an analysis, and `load` reads one back.
"""
