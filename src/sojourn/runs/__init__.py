"""Run agents in worlds: one run, many at once, or a sweep that can be killed at any time and resumed.

`loop` has the compiled loop of a run, `batch` makes many runs in one call, and `recording` defines what is recorded.
`spec`, `catalogue` and `build` describe what to run; `tasks`, `executors`, `store` and `results` run a sweep and
write its tables. Nothing here depends on what the numbers are used for: answers, charts and reports are on higher
floors, and Gymnasium's environments are in another room on this floor.

>>> import sojourn as sj
>>> run = sj.run(sj.worlds.TwoState(log_scale=0.01), sj.smart(2, 2), 100, compiled=False)
>>> isinstance(run, sj.runs.Run), run.steps
(True, 100)
"""

from sojourn.data.names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
