"""The report: one HTML page, from the tables of a run, that says which layer forgot what.

`answer` says it in words, `questions` and `courses` ask further questions and draw
their `views`, and `page` writes all of it as one file.
"""
