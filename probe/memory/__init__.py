"""Memory: how much is free, how its sizes are written, and files on disk in its place.

`free` says how many bytes can still be taken, `byte_sizes` reads and shows them, and `scratch`
holds what does not fit in memory-mapped files that vanish with the process.
"""
