"""Average-reward reinforcement learning in semi-Markov decision processes.

The public names, by the file that defines them.
"""

from sojourn import envs
from sojourn import models as model
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
from sojourn.agents.networks.deep_q import deep_q
from sojourn.agents.networks.ppo import ppo
from sojourn.agents.networks.protocol import ObservingAgent, Spaces, Transitions
from sojourn.agents.oracle import oracle
from sojourn.agents.planning.planner import planner
from sojourn.agents.protocol import act, draw, learn, pauses, policy, think
from sojourn.agents.values.protocol import Table, greedy_action, largest
from sojourn.answers.page import write_report
from sojourn.envs.checker import check_smdp_env
from sojourn.envs.worlds import WorldEnv
from sojourn.exact.audit.audit import Audit, Limit, audit
from sojourn.exact.audit.lock_in import LearnedValues, SelfConfirming, learned_values
from sojourn.exact.bounds import Solution
from sojourn.exact.errors import NotSolvedError
from sojourn.exact.linear_program import linear_program
from sojourn.exact.logs.decision_log import Behaviour, Improvement, Log, LogEvaluation
from sojourn.exact.logs.log_reader import read_log
from sojourn.exact.modified import modified_policy_iteration
from sojourn.exact.policies import PolicyValue, evaluate
from sojourn.exact.policy_iteration import policy_iteration
from sojourn.exact.solve import RatioSolution, solve, solve_ratio
from sojourn.exact.value_iteration import value_iteration
from sojourn.learner.evaluation import Evaluation
from sojourn.learner.learner import Learner
from sojourn.learner.policy import LearnedPolicy
from sojourn.learner.saved import load_policy
from sojourn.learner.verdict import Verdict
from sojourn.learner.watch import tensorboard
from sojourn.models import laws, problems
from sojourn.models.modulated import modulated
from sojourn.models.smdp import SMDP
from sojourn.rates.adaptive import AdaptiveRatio, ClippedExponential, TimeForgetting
from sojourn.rates.centred import Centred
from sojourn.rates.contrast import Fixed, MeanOfRates, TimeSmoothed
from sojourn.rates.harmonic import CumulativeHarmonic, CumulativeWeightedHarmonic, Harmonic, WeightedHarmonic
from sojourn.rates.means import (
    coupling,
    harmonic_mean,
    modified_harmonic_mean,
    ratio_of_means,
    weighted_harmonic_mean,
)
from sojourn.rates.meter import RateMeter
from sojourn.rates.protocol import Steps, carry, limit, update, value
from sojourn.rates.ratio import Cumulative, Exponential, Incremental, SmoothedCumulative
from sojourn.rates.scheduled import Scheduled, Visits
from sojourn.rates.score import RateChoice, RateScore, choose_rate, rate_score
from sojourn.report import plot
from sojourn.rules import random, stats
from sojourn.rules.bridge import inlined
from sojourn.rules.streams import stream
from sojourn.rules.vectors import Bounds
from sojourn.runs.batch import Grid, Runs, grid, run_many
from sojourn.runs.check import RateReport, check_agent, check_rate, check_world
from sojourn.runs.loop import Curve, Run, run
from sojourn.runs.recording import evenly_spaced, log_spaced
from sojourn.runs.results import load_curves, load_results
from sojourn.runs.spec import Entry, Sweep, load_sweep, parse_sweep
from sojourn.runs.store import run_sweep
from sojourn.worlds import changes, continuous
from sojourn.worlds.changing import Drifting, Switching
from sojourn.worlds.disturbed import Disturbed
from sojourn.worlds.market.bars import Bars, load_bars
from sojourn.worlds.market.instruments import synthetic_bars
from sojourn.worlds.market.world import Market
from sojourn.worlds.protocol import gain, is_unswayed, optimal, start, step
from sojourn.worlds.tabular import Tabular, initial_values
from sojourn.worlds.truth import Truth
from sojourn.worlds.two_state import TwoState, cos_log_drift, sin_log_drift
from sojourn_paper.claims import Claim, load_claims

__version__: str

__all__ = [
    "SMDP",
    "AdaptiveRatio",
    "Audit",
    "Bars",
    "Behaviour",
    "Bounds",
    "Centred",
    "Claim",
    "ClippedExponential",
    "Cumulative",
    "CumulativeHarmonic",
    "CumulativeWeightedHarmonic",
    "Curve",
    "Decay",
    "Disturbed",
    "Drifting",
    "Entry",
    "Evaluation",
    "Exponential",
    "Fixed",
    "Grid",
    "Harmonic",
    "Improvement",
    "Incremental",
    "LearnedPolicy",
    "LearnedValues",
    "Learner",
    "Limit",
    "Linear",
    "Log",
    "LogEvaluation",
    "Market",
    "MeanOfRates",
    "NotSolvedError",
    "ObservingAgent",
    "PolicyValue",
    "RateChoice",
    "RateMeter",
    "RateReport",
    "RateScore",
    "RatioSolution",
    "Run",
    "Runs",
    "Scheduled",
    "SelfConfirming",
    "SmoothedCumulative",
    "Solution",
    "Spaces",
    "Steps",
    "Sweep",
    "Switching",
    "Table",
    "Tabular",
    "TimeForgetting",
    "TimeSmoothed",
    "Transitions",
    "Truth",
    "TwoState",
    "Verdict",
    "Visits",
    "WeightedHarmonic",
    "WorldEnv",
    "act",
    "audit",
    "carry",
    "changes",
    "check_agent",
    "check_rate",
    "check_smdp_env",
    "check_world",
    "choose_rate",
    "continuous",
    "cos_log_drift",
    "coupling",
    "deep_q",
    "differential_q",
    "draw",
    "envs",
    "evaluate",
    "evenly_spaced",
    "fixed_rate",
    "follow",
    "gain",
    "greedy_action",
    "greedy_bandit",
    "grid",
    "h_learning",
    "harmonic_mean",
    "harmonic_r",
    "initial_values",
    "inlined",
    "is_unswayed",
    "largest",
    "laws",
    "learn",
    "learned_values",
    "limit",
    "linear_program",
    "load_bars",
    "load_claims",
    "load_curves",
    "load_policy",
    "load_results",
    "load_sweep",
    "log_spaced",
    "model",
    "modified_harmonic_mean",
    "modified_policy_iteration",
    "modulated",
    "optimal",
    "oracle",
    "parse_sweep",
    "parts",
    "pauses",
    "planner",
    "plot",
    "policy",
    "policy_agent",
    "policy_iteration",
    "ppo",
    "problems",
    "r_learning",
    "random",
    "random_agent",
    "rate_score",
    "ratio_of_means",
    "read_log",
    "relaxed_smart",
    "run",
    "run_many",
    "run_sweep",
    "rvi_q",
    "sin_log_drift",
    "smart",
    "smdp_q_learning",
    "solve",
    "solve_ratio",
    "start",
    "stats",
    "step",
    "stream",
    "synthetic_bars",
    "tensorboard",
    "think",
    "tile_q",
    "tile_sarsa",
    "ucb_bandit",
    "update",
    "value",
    "value_iteration",
    "weighted_harmonic_mean",
    "weighted_harmonic_r",
    "write_report",
]
