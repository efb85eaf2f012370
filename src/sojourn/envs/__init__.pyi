"""The public names, by the file that defines them."""

from sojourn.envs.deciding import DecisionEnvironment
from sojourn.envs.named import ENVIRONMENTS, environments, make, register, summary
from sojourn.envs.rate_reward import RateReward, VectorRateReward
from sojourn.envs.simulation import Simulation

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
