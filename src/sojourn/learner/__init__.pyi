"""The public names, by the file that defines them."""

from sojourn.learner.best import BestPolicy
from sojourn.learner.comparing import RuleComparison, RuleSearch
from sojourn.learner.evaluation import Evaluation
from sojourn.learner.history import checkpoints
from sojourn.learner.learner import Learner
from sojourn.learner.policy import LearnedPolicy
from sojourn.learner.saved import load_policy
from sojourn.learner.verdict import Verdict
from sojourn.learner.watch import tensorboard

__all__ = [
    "BestPolicy",
    "Evaluation",
    "LearnedPolicy",
    "Learner",
    "RuleComparison",
    "RuleSearch",
    "Verdict",
    "checkpoints",
    "load_policy",
    "tensorboard",
]
