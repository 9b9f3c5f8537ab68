"""The report: one HTML page that answers which layer forgot what, made of the tables of a run.

`answer` says it in words, `questions` and `courses` ask further questions and draw their `views`,
`page` makes one file of it.
"""
