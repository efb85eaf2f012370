"""Run agents in worlds: one run, many at once, or a sweep that can be killed at any time and resumed.

`loop` and `stack` hold the compiled loops; `spec`, `grids`, `toml` and `named` describe what to run; `tasks`, `rows`,
`folder` and `results` run it and keep the tables. Nothing here depends on what the numbers are used for: studies,
charts and reports are on floors above, and Gymnasium's environments are in a room on the same floor.
"""
