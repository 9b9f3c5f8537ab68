"""Recordings of training loops: networks and accuracies after each task, and their readers.

`checkpoints` finds files of networks by a pattern, `state_files` loads a file without
running any code in it, `recorder` writes a recording from within a loop, `recording`
reads one, and `plugins` have recorders for the loops of other frameworks.
"""
