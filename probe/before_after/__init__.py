"""Before and after: two networks, of which the second is worse on what the first could do.

`networks` opens both, and `data` reads the old and the new examples. `changes` compares their
tensors. `rewinding` tells whose change it was, and `inside` opens a block. `remedies` carries out
what may help, by `fitting` on copies, and ranks it. `content` reads out what blocks still hold.
`meaning` puts the pair into words, `answer` is the record of it, and `result` holds all. Entry:
`probe.diff`, in `comparison`.
"""
