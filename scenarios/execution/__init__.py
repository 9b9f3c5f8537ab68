"""Execution: the jobs of a study in this process, in several, or on a cluster.

- `work`: one job, done under its lock (`probe.locks`); `pace`: an estimate of the time
  left;
- `schedule`: the order of all jobs of a study, on any executor, and the simplest
  executor;
- `pool`: an executor with processes on this machine, forked from a `server` that has
  `preloaded` the modules of a job; `cluster`: one with Ray's processes; `devices`: the
  choice of an executor by the flags.

Processes share nothing but the run directory. Every file in it is replaced atomically,
and a job gives the same bytes in any process, so processes need not agree on anything:
locks only save work.
"""
