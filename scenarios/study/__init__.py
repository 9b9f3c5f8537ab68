"""A study: scenario x network x learners x orders x seeds, from its file to its tables.

In the order in which they are used:

- `scenario_spec`, `probing`, `fields`, `spec`: what a study is; `source`: read from a preset or
  file, and checked; `own`: what of it is the user's own code;
- `jobs`: its jobs and their parts; `preflight`: what is refused before any of them begins;
- `fingerprint`, `code`: what a result depends on; `kept`: what is kept of it, and taken up again;
- `job`, `reading`: one job done, and what is read behind its features; `given`: the same of
  networks that are not trained here;
- `run_directory`: how far all jobs are; `reporting`: what came out.

In which process and when a job is done is not known here; that is `scenarios.execution`.
"""
