"""Before and after: two networks, of which the second is worse on what the first could do.

`networks` opens both, and `data` reads the old and the new examples. `setting` puts
blocks back, by `probe.rewinding`, and `inside` opens a block. `changes` compares
tensors. `remedies` carries out what may help, by `fitting` on copies, and `ranking`
chooses among the remedies. `content` reads out what blocks still hold. `meaning` tells
the kind of change, `answering` makes the record `answer`, and `result` holds it with
its tables. `comparison` does all of this in order, for `probe.diff`; `watching`
compares during a training.
"""
