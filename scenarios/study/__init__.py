"""A study: scenario x network x learners x orders x seeds, from its file to its networks.

The modules, in the order in which they are used:

- `scenario_spec`, `spec`: the settings of a study; `study_toml`: a preset or file,
  read; `study_file`: checked, and changed by flags;
- `training`: the networks that its learners train, and learners restored from
  checkpoints;
- `plan`: the plan for the engine, `probe.by_layer`, with the features and the code of
  user-defined objects, the checks before any training, and the loader of its networks
  in any process.

Processes and the order of jobs are up to `scenarios.execution`.
"""
