"""The metrics of the literature, one module per paper, as pure functions of counts and matrices.

`counts` and `task_counts` hold what an evaluation gave, `matrix` the accuracies of a whole run;
`scorecard` has all metrics of a matrix in one table, METRICS, and says how to add one.
"""
