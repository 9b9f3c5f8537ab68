"""Answers: what was forgotten, what each layer's change accounts for, what is still there.

`record` has the answer as data, `study` makes it of the tables of a run, `text` writes
it for a terminal or as Markdown, and `plain` for JSON.
"""
