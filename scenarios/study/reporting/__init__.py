"""What came out of a study: from stored parts to its tables.

`behind` and `results` turn the parts of a job into scores, `scores` and `layers` these into the
metrics of the papers and into what each layer kept, and `tables` writes all of it.
"""
