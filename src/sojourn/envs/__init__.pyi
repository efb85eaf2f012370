"""The public names, by the file that defines them."""

from sojourn.envs.deciding import DecisionEnvironment
from sojourn.envs.named import ENVIRONMENTS, environments, make, register, summary
from sojourn.envs.simulation import Simulation

__all__ = [
    "ENVIRONMENTS",
    "DecisionEnvironment",
    "Simulation",
    "environments",
    "make",
    "register",
    "summary",
]
