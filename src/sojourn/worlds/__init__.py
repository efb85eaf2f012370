"""Worlds, in which agents act: they run compiled, one file each.

`protocol` defines a world as a value with the rules `start` and `step`, and checks it before it runs. A world knows
nothing about agents, or about how runs are counted and recorded.

>>> import sojourn as sj
>>> world = sj.worlds.Tabular(sj.problems.PROBLEMS["gosavi"]())
>>> world, state = sj.start(world, sj.stream(1))
>>> state
0
"""

from sojourn.data.names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
