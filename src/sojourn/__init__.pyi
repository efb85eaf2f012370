"""Average-reward reinforcement learning in semi-Markov decision processes.

The public names, by the file that defines them.
"""

from sojourn import laws, model, problems, random
from sojourn._compile import inlined
from sojourn.agents.named import (
    differential_q,
    fixed_rate,
    harmonic_r,
    policy_agent,
    r_learning,
    random_agent,
    relaxed_smart,
    smart,
    smdp_q_learning,
    weighted_harmonic_r,
)
from sojourn.agents.rules import Decay, act, draw, greedy_action, largest, learn, policy
from sojourn.audits.audit import Audit, Limit, audit
from sojourn.bars import Bars, load_bars
from sojourn.check import RateReport, check_agent, check_rate, check_world
from sojourn.claims import Claim, load_claims
from sojourn.envs.check import check_smdp_env
from sojourn.envs.worlds import WorldEnv
from sojourn.evaluation import Evaluation
from sojourn.learner import Learner
from sojourn.many import Grid, Runs, grid, run_many
from sojourn.means import (
    coupling,
    harmonic_mean,
    modified_harmonic_mean,
    ratio_of_means,
    weighted_harmonic_mean,
)
from sojourn.model.smdp import SMDP
from sojourn.random import stream
from sojourn.rates import (
    Cumulative,
    CumulativeHarmonic,
    Exponential,
    Fixed,
    Harmonic,
    Incremental,
    RateMeter,
    SmoothedCumulative,
    TimeSmoothed,
    WeightedHarmonic,
    update,
    value,
)
from sojourn.report.page import write_report
from sojourn.results import load_results
from sojourn.simulate import Curve, Run, evenly_spaced, log_spaced, run
from sojourn.solvers.choose import solve
from sojourn.solvers.evaluation import PolicyValue, evaluate
from sojourn.solvers.linear_program import linear_program
from sojourn.solvers.modified import modified_policy_iteration
from sojourn.solvers.policy_iteration import policy_iteration
from sojourn.solvers.solution import NotSolvedError, Solution
from sojourn.solvers.value_iteration import value_iteration
from sojourn.spec import Entry, Sweep, load_sweep, parse_sweep
from sojourn.sweep import run_sweep
from sojourn.synthetic import synthetic_bars
from sojourn.watch import tensorboard
from sojourn.worlds.market import Market
from sojourn.worlds.rules import start, step
from sojourn.worlds.tabular import Tabular, initial_values
from sojourn.worlds.two_state import TwoState, cos_log_drift, sin_log_drift

__version__: str

__all__ = [
    "SMDP",
    "Audit",
    "Bars",
    "Claim",
    "Cumulative",
    "CumulativeHarmonic",
    "Curve",
    "Decay",
    "Entry",
    "Evaluation",
    "Exponential",
    "Fixed",
    "Grid",
    "Harmonic",
    "Incremental",
    "Learner",
    "Limit",
    "Market",
    "NotSolvedError",
    "PolicyValue",
    "RateMeter",
    "RateReport",
    "Run",
    "Runs",
    "SmoothedCumulative",
    "Solution",
    "Sweep",
    "Tabular",
    "TimeSmoothed",
    "TwoState",
    "WeightedHarmonic",
    "WorldEnv",
    "act",
    "audit",
    "check_agent",
    "check_rate",
    "check_smdp_env",
    "check_world",
    "cos_log_drift",
    "coupling",
    "differential_q",
    "draw",
    "evaluate",
    "evenly_spaced",
    "fixed_rate",
    "greedy_action",
    "grid",
    "harmonic_mean",
    "harmonic_r",
    "initial_values",
    "inlined",
    "largest",
    "laws",
    "learn",
    "linear_program",
    "load_bars",
    "load_claims",
    "load_results",
    "load_sweep",
    "log_spaced",
    "model",
    "modified_harmonic_mean",
    "modified_policy_iteration",
    "parse_sweep",
    "policy",
    "policy_agent",
    "policy_iteration",
    "problems",
    "r_learning",
    "random",
    "random_agent",
    "ratio_of_means",
    "relaxed_smart",
    "run",
    "run_many",
    "run_sweep",
    "sin_log_drift",
    "smart",
    "smdp_q_learning",
    "solve",
    "start",
    "step",
    "stream",
    "synthetic_bars",
    "tensorboard",
    "update",
    "value",
    "value_iteration",
    "weighted_harmonic_mean",
    "weighted_harmonic_r",
    "write_report",
]
