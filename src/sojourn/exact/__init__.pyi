"""The public names, by the file that defines them."""

from sojourn.exact.audit.audit import Audit, Limit
from sojourn.exact.audit.lock_in import LearnedValues, SelfConfirming, learned_values
from sojourn.exact.bounds import Solution
from sojourn.exact.constraints import Constraint, at_least, at_most
from sojourn.exact.criteria import TotalValue
from sojourn.exact.errors import NotSolvedError
from sojourn.exact.linear_program import linear_program
from sojourn.exact.logs.amounts import AmountRate
from sojourn.exact.logs.bins import bins
from sojourn.exact.logs.decision_log import Log
from sojourn.exact.logs.estimates import Behaviour, Improvement, LogEvaluation
from sojourn.exact.logs.events import read_events
from sojourn.exact.logs.lives import read_lives
from sojourn.exact.logs.log_reader import read_log
from sojourn.exact.logs.when import When
from sojourn.exact.modified import modified_policy_iteration
from sojourn.exact.policies import PolicyValue, evaluate
from sojourn.exact.policy_files import SolvedPolicy
from sojourn.exact.policy_iteration import policy_iteration
from sojourn.exact.risk import certain_rate, crra, cvar
from sojourn.exact.risk_frontier import RiskFrontier, risk_frontier
from sojourn.exact.sensitivity import Alternatives, Sensitivity
from sojourn.exact.solve import RatioSolution, solve_ratio
from sojourn.exact.tradeoffs import Frontier, frontier
from sojourn.exact.value_iteration import value_iteration

__all__ = [
    "Alternatives",
    "AmountRate",
    "Audit",
    "Behaviour",
    "Constraint",
    "Frontier",
    "Improvement",
    "LearnedValues",
    "Limit",
    "Log",
    "LogEvaluation",
    "NotSolvedError",
    "PolicyValue",
    "RatioSolution",
    "RiskFrontier",
    "SelfConfirming",
    "Sensitivity",
    "Solution",
    "SolvedPolicy",
    "TotalValue",
    "When",
    "at_least",
    "at_most",
    "bins",
    "certain_rate",
    "crra",
    "cvar",
    "evaluate",
    "frontier",
    "learned_values",
    "linear_program",
    "modified_policy_iteration",
    "policy_iteration",
    "read_events",
    "read_lives",
    "read_log",
    "risk_frontier",
    "solve_ratio",
    "value_iteration",
]
