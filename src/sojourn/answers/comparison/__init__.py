"""All agents on problems whose exact gain is known: what is run, how it is judged, and how it is shown.

`plan` says what is run, `tuning` chooses options, `judge` measures and has the record of a comparison, and `section` shows
it; `compare` puts it all together. `observed` does the same for problems whose observations cannot be listed.
"""
