"""Comparison of agents on problems whose exact gain is known: what is run, how it is judged, and how it is shown.

`plan` defines the runs, `tuning` chooses options, `judge` measures and defines the record of a comparison, and
`section` presents it; `compare` puts it all together. `observed` does the same for problems whose observations cannot
be enumerated.
"""
