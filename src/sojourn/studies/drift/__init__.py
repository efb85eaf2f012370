"""What to do when rewards and durations change: which estimators follow a rate, which agents earn, what a trend tells.

`plan` says what is run; `tracking`, `control`, `family` and `trend` measure; `tables` is what is written; `words`, `charts`
and `section` show it and compute nothing; `folder` puts all of it together.
"""
