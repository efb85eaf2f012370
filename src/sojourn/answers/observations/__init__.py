"""Networks on problems whose observations cannot be listed, and whose exact gain is known.

`plan` says what is run, `judge` estimates what a policy is worth, and `record` is what is written. `words`, `charts` and
`section` show the record and compute nothing; `folder` puts it all together.
"""
