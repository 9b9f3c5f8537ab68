"""Execution: the jobs of a study in this process, in several, or on a cluster.

- `locks`: one process at a time for each job; `work`: one job done under its lock;
- `executor`: what an executor is, and the simplest one; `pool`: processes of this machine;
  `cluster`: Ray's; `choosing`: which of them, by the flags given;
- `schedule`: all jobs of a study to their end, on any executor.

Processes share nothing but the run directory. Every file in it is replaced whole, and a job gives
the same bytes whoever does it, so no two processes have to agree on anything: a lock only keeps
them from doing the same work twice.
"""
