"""What to do when rewards and durations change: which estimators follow a rate, which agents earn most, what a trend says.

`plan` defines the runs; `tracking`, `control`, `family` and `trend` measure; `tables` defines the output. `charts`
and `section` present it; `section` also runs the study as a whole.
"""
