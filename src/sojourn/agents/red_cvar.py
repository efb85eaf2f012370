"""RED CVaR Q-learning (Rojas and Lee 2025): values for the mean of the worst rewards instead of the mean of all.

CVaR at a level is the mean of that share of all steps in which the reward is lowest. It is the largest mean of

    x = v - max(0, v - r) / level

over all v, and v is then the quantile at the level (Rockafellar and Uryasev 2000). So at a fixed v it is the average reward of
an ordinary problem. With rho the estimate of the mean of x, the agent learns by

    delta = x - rho + max Q(s', .) - Q(s, a);      Q(s, a) += alpha delta;      rho += beta delta

and moves v by a stochastic gradient of the mean of x, in units of the spread of rewards about v, a moving mean of |r - v|:

    v += beta_v spread (level - 1{r < v})

**The quantile as published.** The authors move v by the same delta, v += beta_v (k delta + rho - v), with k = 1 for r >= v and
level / (level - 1) for r < v. The mean of this is 0 at the quantile if the values of s and s' do not depend on whether r < v. Where
the state decides that, as in a cycle of two states with rewards of 0 and 1, E[k delta] is 0 whatever v is, and v goes to rho, and
both to 0. And if v is below all rewards, then x = v = rho and nothing moves any more. So this is a variant here, not the default.

**Steps that take time.** With `per="steps"`, each step counts the same, however long it is, and one that takes no time too. With
`per="duration"`, the rate r / tau of a step counts for as long as the step lasts: with l = tau (and l = 1 for steps)

    x = l v - max(0, l v - r) / level;      delta = x - rho l + max Q(s', .) - Q(s, a)
    v += beta_v (spread / m) (l / m) (level - 1{r < l v})

where m is the mean of l and beta_v l / m at most 1. Then rho is the rate in the worst share of the time. Like every function of
rates that is not a straight line, this depends on how time is cut into steps.

**What it finds** is a policy that is best at its own quantile: no policy has a larger mean of x at this v. There may be several
such policies, and the best CVaR may be another one's. If one action always earns 0 and another one 5, but -1 in a tenth of the
cases, then at v = 0, the quantile of the first, x is 0 for the first and -0.4 for the second; but the means of the worst
quarters are 0 and (0.1 (-1) + 0.15 * 5) / 0.25 = 2.6.
"""

from __future__ import annotations

from typing import NamedTuple

from numpy.typing import ArrayLike

from sojourn.agents.constructors import estimator, initial_table, learning
from sojourn.agents.exploration import Decay, Linear
from sojourn.agents.learning import LearningAgent
from sojourn.agents.methods import Method, Step, average_reward_error, elapsed, evidence, takes_all, td_error
from sojourn.agents.step_sizes import GivenStepSize
from sojourn.agents.values.protocol import Values, read
from sojourn.data.numbers import at_least_zero, finite, fraction, proper_fraction
from sojourn.rates.centred import MeanDuration, averaged
from sojourn.rates.protocol import Rate
from sojourn.rates.ratio import Exponential, Incremental
from sojourn.rates.scheduled import Visits
from sojourn.rules.bridge import inlined
from sojourn.rules.door import told
from sojourn.rules.values import checked, replaced


@checked(level=proper_fraction, quantile_step_size=fraction, quantile=finite, spread=at_least_zero)
class WorstRewards(NamedTuple):
    """RED CVaR: errors of rewards that are cut off at a quantile, which is learned too."""

    level: float
    by_time: bool
    published: bool
    quantile_step_size: float
    quantile: float = 0.0
    spread: float = 0.0
    lengths: MeanDuration = MeanDuration()


@td_error.register
def worst_rewards(
    method: WorstRewards, values: Values, rate: float, step: Step
) -> tuple[float, WorstRewards]:
    """The error of average reward, with l v - max(0, l v - r) / level for the reward; then the quantile moves."""
    length = elapsed(method, step.duration)
    quantile = begun(method, step.reward, length)
    lack = length * quantile - step.reward
    worth = length * quantile - max(0.0, lack) / method.level
    here = read(values, step.state, step.action)
    delta = average_reward_error(worth, length, rate, step.ahead, here)
    if method.published:
        return delta, as_published(method, lack, rate, delta)
    return delta, by_gradient(method, quantile, lack, length)


def aim_of(method: Method) -> str:
    """Return what the rate of an agent with this method is, in words; empty if it is the reward per unit of time.

    >>> aim_of(red_cvar(1, 1, level=0.1, per="duration").method)
    'rate in the worst 10 % of the time'
    """
    if not isinstance(method, WorstRewards):
        return ""
    share = f"{100.0 * method.level:.4g} %"
    return (
        f"rate in the worst {share} of the time"
        if method.by_time
        else f"mean of the worst {share} of the rewards"
    )


@inlined
def begun(method: WorstRewards, reward: float, length: float) -> float:
    """Return the quantile before a step: as long as no time has passed the first reward, per unit of time."""
    if method.published or method.lengths.mean > 0.0 or length == 0.0:
        return method.quantile
    return reward / length


@inlined
def by_gradient(method: WorstRewards, quantile: float, lack: float, length: float) -> WorstRewards:
    """Return the method after its quantile has moved by the gradient; `lack` is how far the reward is below it.

    >>> method = WorstRewards(level=0.25, by_time=False, published=False, quantile_step_size=0.1, spread=4.0)
    >>> by_gradient(method, quantile=8.0, lack=2.0, length=1.0)[4:6]  # the spread comes nearer to 2; 8 - 0.1 * 3.8 * 0.75
    (7.715, 3.8)
    """
    lengths = averaged(method.lengths, length)
    spread = method.spread + method.quantile_step_size * (abs(lack) - method.spread)
    if lengths.mean > 0.0:
        share = min(1.0, method.quantile_step_size * (length / lengths.mean))
        quantile += share * (spread / lengths.mean) * (method.level - (1.0 if lack > 0.0 else 0.0))
    return replaced(method, quantile=quantile, spread=spread, lengths=lengths)


@inlined
def as_published(method: WorstRewards, lack: float, rate: float, delta: float) -> WorstRewards:
    """Return the method after its quantile has moved by delta."""
    factor = method.level / (method.level - 1.0) if lack > 0.0 else 1.0
    change = method.quantile_step_size * (factor * delta + rate - method.quantile)
    return replaced(method, quantile=method.quantile + change)


@evidence.register
def error_and_rate(method: WorstRewards, values: Values, rate: float, step: Step, delta: float) -> float:
    """Delta + rho l, whose mean over that of l is rho at rest."""
    return delta + rate * elapsed(method, step.duration)


@takes_all.register
def all_steps(method: WorstRewards) -> bool:
    """Every step."""
    return True


@elapsed.register
def steps_or_time(method: WorstRewards, duration: float) -> float:
    """One step, or the duration."""
    return duration if method.by_time else 1.0


VARIANTS = ("gradient", "published")
PER = ("steps", "duration")


@told
def red_cvar(
    num_states: int,
    num_actions: int,
    *,
    level: float = 0.25,
    per: str = "steps",
    step_size: GivenStepSize = 0.01,
    rate_step_size: float | Visits | None = None,
    quantile_step_size: float = 0.001,
    variant: str = "gradient",
    exploration: float | Decay | Linear = 0.1,
    greedy: str = "action",
    ties: str = "random",
    initial: ArrayLike = 0.0,
    centring: float = 0.0,
    rate: Rate | None = None,
) -> LearningAgent:
    """RED CVaR Q-learning (Rojas and Lee 2025): it maximises the mean of the worst rewards (CVaR), not the mean of all.

    `level` is the share of all steps that counts as the worst. With `per="steps"`, durations do not matter; with
    `per="duration"` it maximises the rate in the worst share of the time. The quantile at the level begins with the first reward
    and is learned with `quantile_step_size`, in units of the spread of rewards. With `variant="published"` it begins at 0 and is
    learned as by the authors, which is right only where the state does not tell bad steps from good ones. Every step moves the
    rate, which is the CVaR and not the gain: `Exponential`, or `Incremental` as published.

    The quantile is the behaviour's, exploration included, so explore less as time goes on if mistakes are dear. Of several
    policies that are best at their own quantiles it may keep a worse one; `sojourn.exact.cvar` has the exact CVaR of a policy.

    After a reward of 3, a reward of 1 is 2 below the quantile, and counts as 3 - 2 / 0.25:

    >>> from sojourn.agents.protocol import learn
    >>> from sojourn.rates.protocol import value
    >>> agent = learn(red_cvar(1, 1, step_size=0.5, rate_step_size=1.0), 0, 0, 3.0, 1.0, 0)
    >>> agent.q, value(agent.rate), agent.method.quantile
    (array([[1.5]]), 3.0, 3.0)
    >>> learn(agent, 0, 0, 1.0, 1.0, 0).q  # half of -5 - 3 is added
    array([[-2.5]])
    """
    for name, given, known in (("variant", variant, VARIANTS), ("per", per, PER)):
        if given not in known:
            raise ValueError(f"{name} is {given!r}; it must be {known[0]!r} or {known[1]!r}")
    published, by_time = variant == VARIANTS[1], per == PER[1]
    if published and by_time:
        raise ValueError("variant is 'published', which counts steps; leave out per='duration'")
    method = WorstRewards(level, by_time, published, quantile_step_size)
    known_rate = estimator(Incremental if published else Exponential, rate_step_size, rate, centring)
    values = initial_table(num_states, num_actions, initial)
    return learning(values, known_rate, method, step_size, exploration, greedy, ties)
