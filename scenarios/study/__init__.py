"""A study: scenario x network x learners x orders x seeds, from its file to its tables.

In the order in which they are used:

- `scenario_spec`, `probing`, `spec`: what a study is; `source`: read from a preset or file, and
  checked;
- `jobs`: its jobs and their parts; `preflight`: what is refused before any of them begins;
- `fingerprint`, `code`: what a result depends on; `measurement`, `store`,
  `quarantine`: how it is kept;
- `job`, `reading`: one job done, and what is read behind its features; `resuming`: taken up again
  where it was stopped;
- `run_directory`: how far all jobs are; `reporting`: what came out.

In which process and when a job is done is not known here; that is `scenarios.execution`.
"""
