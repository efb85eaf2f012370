"""All agents on problems whose exact gain is known: what is run, how it is judged, and how it is shown.

`plan` says what is run, `judge` and `estimators` make tables of it, and `record` is what is written. `words`, `charts`
and `section` show the record and compute nothing; `folder` puts it all together.
"""
