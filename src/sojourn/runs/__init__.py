"""Running agents in worlds: one run, many at once, and sweeps in folders that survive being killed.

`loop` and `stack` take the steps, compiled; `spec`, `grids`, `toml` and `named` say what to run; `tasks`, `rows`,
`folder` and `results` do it and keep the tables. Nothing here knows what the numbers are for: studies, charts
and reports live above, and Gymnasium's environments beside.
"""
