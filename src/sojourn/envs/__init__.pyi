"""The public names, by the file that defines them."""

from sojourn.envs.catalogue import ENVIRONMENTS, environments, make, register, summary
from sojourn.envs.checker import check_smdp_env
from sojourn.envs.ciw_simulation import NetworkDecisions, NetworkSimulation
from sojourn.envs.holding import Holding
from sojourn.envs.options import Options
from sojourn.envs.rate_reward import RateReward, VectorRateReward
from sojourn.envs.simulation import DecisionEnvironment, Simulation
from sojourn.envs.world_vector import WorldVectorEnv
from sojourn.envs.worlds import WorldEnv

__all__ = [
    "ENVIRONMENTS",
    "DecisionEnvironment",
    "Holding",
    "NetworkDecisions",
    "NetworkSimulation",
    "Options",
    "RateReward",
    "Simulation",
    "VectorRateReward",
    "WorldEnv",
    "WorldVectorEnv",
    "check_smdp_env",
    "environments",
    "make",
    "register",
    "summary",
]
