"""What to do when rewards and durations change: which estimators follow a rate, which agents earn most, what a trend says.

`plan` says what is run; `tracking`, `control`, `family` and `trend` measure; `tables` is what is written. `charts` and `section`
show it; `section` also runs the study as a whole.
"""
