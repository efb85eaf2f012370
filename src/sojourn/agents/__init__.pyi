"""The public names, by the file that defines them."""

from sojourn.agents import parts
from sojourn.agents.bandits import greedy_bandit, ucb_bandit
from sojourn.agents.baselines import follow, policy_agent, random_agent
from sojourn.agents.constructors import (
    differential_q,
    fixed_rate,
    harmonic_r,
    r_learning,
    relaxed_smart,
    rvi_q,
    smart,
    smdp_q_learning,
    tile_q,
    tile_sarsa,
    weighted_harmonic_r,
)
from sojourn.agents.exploration import Decay, Linear
from sojourn.agents.h_learning import h_learning
from sojourn.agents.intra_option import intra_option
from sojourn.agents.networks.deep_q import deep_q
from sojourn.agents.networks.ppo import ppo
from sojourn.agents.networks.protocol import ObservingAgent, Spaces, Transitions
from sojourn.agents.networks.sac import sac
from sojourn.agents.oracle import oracle
from sojourn.agents.planning.episodes import ct_ucrl, tsde, ucrl_smdp
from sojourn.agents.planning.planner import planner
from sojourn.agents.protocol import act, draw, learn, pauses, policy, think
from sojourn.agents.red_cvar import red_cvar
from sojourn.agents.renewal import Thompson, UpperBound, renewal, tile_renewal
from sojourn.agents.step_sizes import FrequencyAdjusted
from sojourn.agents.values.protocol import Table, greedy_action, largest

__all__ = [
    "Decay",
    "FrequencyAdjusted",
    "Linear",
    "ObservingAgent",
    "Spaces",
    "Table",
    "Thompson",
    "Transitions",
    "UpperBound",
    "act",
    "ct_ucrl",
    "deep_q",
    "differential_q",
    "draw",
    "fixed_rate",
    "follow",
    "greedy_action",
    "greedy_bandit",
    "h_learning",
    "harmonic_r",
    "intra_option",
    "largest",
    "learn",
    "oracle",
    "parts",
    "pauses",
    "planner",
    "policy",
    "policy_agent",
    "ppo",
    "r_learning",
    "random_agent",
    "red_cvar",
    "relaxed_smart",
    "renewal",
    "rvi_q",
    "sac",
    "smart",
    "smdp_q_learning",
    "think",
    "tile_q",
    "tile_renewal",
    "tile_sarsa",
    "tsde",
    "ucb_bandit",
    "ucrl_smdp",
    "weighted_harmonic_r",
]
