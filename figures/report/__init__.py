"""The report: one HTML page that answers which layer forgot what, made of the tables of a run.

`answer` says it in words, `sections` asks the questions below and draws their `views`, `page` makes
one file of it.
"""
