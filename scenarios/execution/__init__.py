"""Execution: the jobs of a study in this process, in several, or on a cluster.

- `locks`: one process at a time for each job; `work`: one job done under its lock;
- `schedule`: all jobs of a study to their end, on any executor, and the simplest executor; `pool`:
  processes of this machine; `cluster`: those of Ray; `devices`: one of them by the flags;
- `time_left`: an estimate.

Processes share nothing but the run directory. Every file in it is replaced atomically, and a job
gives the same bytes in any process, so processes need not agree on anything: locks only save work.
"""
