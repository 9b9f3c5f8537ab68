"""Values of prefixes, kept in memory or in mapped files, or computed again.

The outputs of a prefix are data like any other: the tail is trained on them, asked for by number,
as it would be on a tensor of inputs. They may be larger than the memory, so each feature's values
go where they fit. `allocation` decides that before anything is computed; `cache` computes
them in one pass over the inputs and serves them; `layout` says how an example's value lies in a row
of bytes; `probe.memory` holds the files on disk. Wherever a value lives, it has the same
bits.
"""
