"""What to do when rewards and durations change: which estimators follow a rate, which agents earn most, what a trend says.

`plan` says what is run; `tracking`, `control`, `family` and `trend` measure; `tables` is what is written. `words`, `charts`
and `section` show it and compute nothing; `folder` puts it all together.
"""
