"""A study: scenario x network x learners x orders x seeds, from its file to its networks.

In the order in which they are used:

- `scenario_spec`, `fields`, `spec`: the settings of a study; `source`: a preset or file, read,
  checked and changed by flags;
- `planning`: its plan for the engine, `probe.by_layer`, with the features and the code of
  user-defined objects; `preflight`: checks before any training;
- `learned`: the networks that its learners train; `resuming`: learners restored from checkpoints;
- `origin`: its networks and data, made in any process.

Processes and the order of jobs are up to `scenarios.execution`.
"""
