"""Average-reward reinforcement learning in semi-Markov decision processes.

The public names, by the file that defines them. Everything else is in the modules: `sj.rates`, `sj.agents`, ...
"""

from sojourn import agents, envs, exact, learner, models, rates, runs, worlds
from sojourn import models as model
from sojourn.agents.constructors import harmonic_r, r_learning, relaxed_smart, smart, tile_q
from sojourn.agents.networks.deep_q import deep_q
from sojourn.agents.networks.ppo import ppo
from sojourn.agents.planning.planner import planner
from sojourn.agents.protocol import draw, learn
from sojourn.answers.page import write_report
from sojourn.envs.checker import check_smdp_env
from sojourn.exact.audit.audit import audit
from sojourn.exact.logs.bins import bins
from sojourn.exact.logs.decision_log import Log
from sojourn.exact.logs.events import read_events
from sojourn.exact.logs.log_reader import read_log
from sojourn.exact.policies import evaluate
from sojourn.exact.solve import solve
from sojourn.learner.learner import Learner
from sojourn.learner.saved import load_policy
from sojourn.models import laws, problems
from sojourn.models.smdp import SMDP
from sojourn.rates.harmonic import Harmonic
from sojourn.rates.meter import RateMeter
from sojourn.rates.protocol import limit, update, value
from sojourn.rates.ratio import Cumulative, Exponential
from sojourn.report import plot
from sojourn.rules import random, stats
from sojourn.rules.bridge import inlined
from sojourn.rules.random import stream
from sojourn.runs.batch import grid, run_many
from sojourn.runs.check import check_agent, check_world
from sojourn.runs.loop import run
from sojourn.runs.results import load_results
from sojourn.runs.store import run_sweep
from sojourn.worlds.protocol import gain, start, step

__version__: str

__all__ = [
    "SMDP",
    "Cumulative",
    "Exponential",
    "Harmonic",
    "Learner",
    "Log",
    "RateMeter",
    "agents",
    "audit",
    "bins",
    "check_agent",
    "check_smdp_env",
    "check_world",
    "deep_q",
    "draw",
    "envs",
    "evaluate",
    "exact",
    "gain",
    "grid",
    "harmonic_r",
    "inlined",
    "laws",
    "learn",
    "learner",
    "limit",
    "load_policy",
    "load_results",
    "model",
    "models",
    "planner",
    "plot",
    "ppo",
    "problems",
    "r_learning",
    "random",
    "rates",
    "read_events",
    "read_log",
    "relaxed_smart",
    "run",
    "run_many",
    "run_sweep",
    "runs",
    "smart",
    "solve",
    "start",
    "stats",
    "step",
    "stream",
    "tile_q",
    "update",
    "value",
    "worlds",
    "write_report",
]
