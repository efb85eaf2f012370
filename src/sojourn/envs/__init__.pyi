"""The public names, by the file that defines them."""

from sojourn.envs.catalogue import ENVIRONMENTS, environments, make, register, summary
from sojourn.envs.rate_reward import RateReward, VectorRateReward
from sojourn.envs.simulation import DecisionEnvironment, Simulation

__all__ = [
    "ENVIRONMENTS",
    "DecisionEnvironment",
    "RateReward",
    "Simulation",
    "VectorRateReward",
    "environments",
    "make",
    "register",
    "summary",
]
