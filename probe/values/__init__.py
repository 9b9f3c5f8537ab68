"""Values of prefixes, kept in memory or in mapped files, or computed again.

The outputs of a prefix are data like any other: the tail is trained on them, accessed
by index, as it would be on a tensor of inputs. They may be larger than the memory, so
each feature's values go where they fit. `allocation` decides this before anything is
computed. `cache` computes the values in one pass over the inputs and serves them.
`layout` defines how an example's value is stored in a row of bytes, and `probe.memory`
has the files on disk. A value has the same bits wherever it is stored.
"""
