"""A comparison in words: tables for a terminal and the README, and why each agent ends where it does."""

from __future__ import annotations

import textwrap

from sojourn.agents.named import AGENTS
from sojourn.report.words import number as nicely
from sojourn.studies.audit.answer import Limit
from sojourn.studies.audit.words import greedy_for, number
from sojourn.studies.comparison import changing
from sojourn.studies.comparison.record import AgentResult, Comparison, EstimatorError, Problem, RunSettings


def table_lines(found: Problem) -> list[str]:
    """Return the table of one problem for a terminal."""
    lines = [
        f"{found.name}: optimal gain {found.gain:.6g}",
        f"{'':32}{'final policy':>22}{'followed':>10}{'optimal':>9}{'to 99 %':>10}{'earned at best':>24}",
    ]
    for row in found.agents:
        gain = f"{row.relative_gain:.3f} ({row.relative_low:.3f}-{row.relative_high:.3f})"
        earned = f"{row.earning.earned:.3f} ({row.earning.low:.3f}-{row.earning.high:.3f})"
        lines.append(
            f"  {row.name:30}{gain:>22}{row.followed:>10.3f}{100 * row.optimal_share:>7.0f} %"
            f"{_whole(row.steps_99):>10}{earned:>24}"
        )
    return [*lines, *map(_on_edge, _with_edges(found))]


def _with_edges(found: Problem) -> list[AgentResult]:
    return [row for row in found.agents if row.edges or row.earning.edges]


def _on_edge(row: AgentResult) -> str:
    """Say which options of an agent have their best choice on the edge of what was tried."""
    both = ((row.edges, row.options, "policy"), (row.earning.edges, row.earning.options, "earning"))
    told = "; ".join(
        f"{_listed([f'{edge} {options[edge]:g}' for edge in edges])} for {what}"
        for edges, options, what in both
        if edges
    )
    return f"  {row.name} does best on the edge of what was tried: {told}. Widen further, or give it another grid."


def leader(found: Problem) -> str:
    """Say which agents have the highest relative gain at the end, and whose intervals overlap with theirs."""
    best = max(found.agents, key=lambda row: row.relative_gain)
    first = [row.name for row in found.agents if row.relative_gain == best.relative_gain]
    told = (
        f"The highest relative gain at the end is {nicely(best.relative_gain)} (95 % interval "
        f"{nicely(best.relative_low)} to {nicely(best.relative_high)}): {', '.join(first)}."
    )
    behind = [row for row in found.agents if row.relative_gain < best.relative_gain]
    near = [row.name for row in behind if row.relative_high >= best.relative_low]
    if not behind:
        return told
    if not near:
        return f"{told} No other agent's interval overlaps with that."
    return f"{told} The intervals of these agents overlap with that: {', '.join(near)}."


# --- Why ------------------------------------------------------------------------------


def verdict(found: Problem) -> list[str]:
    """Return, in sentences, how Harmonic R-Learning compares with SMART on a problem, and why, if both took part."""
    if not {"harmonic_r", "smart"} <= {row.agent for row in found.agents}:
        return []
    harmonic, smart = found.agent("harmonic_r"), found.agent("smart")
    measured = (
        f"Harmonic R-Learning ends with an optimal policy in {100 * harmonic.optimal_share:.0f} % of the runs "
        f"(steps to 99 %: {_whole(harmonic.steps_99)}), SMART in {100 * smart.optimal_share:.0f} % "
        f"({_whole(smart.steps_99)}). Its median learned rate is {number(harmonic.rate)}, SMART's is "
        f"{number(smart.rate)}; the gain is {found.gain:.4g}."
    )
    told = [measured, _why(found, found.audit["Harmonic"]), _held_up(found), _noise(found)]
    return [sentence for sentence in told if sentence]


def _why(found: Problem, limit: Limit) -> str:
    """Say what the harmonic mean converges to under the optimal policy, and what follows from that."""
    if limit.error == 0.0:
        return "Under the optimal policy the harmonic mean converges to the gain itself: here it is a right estimate."
    rate, interval = number(limit.rate), greedy_for(found.audit)
    wrong = f"Under the optimal policy the harmonic mean converges to {rate} instead of {found.gain:.4g}."
    if limit.keeps_optimum:
        return f"{wrong} An optimal policy is greedy for {interval}, and so for this rate too."
    settled = limit.settled_gain
    ends = "and goes in circles from there" if settled is None else f"and settles at a gain of {settled:.4g}"
    return (
        f"{wrong} An optimal policy is greedy only for {interval}, so an agent that has learned {rate} leaves it for a "
        f"policy with the gain {number(limit.greedy_gain)}, {ends}. Values drift at that rate, so with little "
        "exploration the action taken most often may stay ahead."
    )


def _held_up(found: Problem) -> str:
    """Say which wrong policy the agent often has, if there is one."""
    trap = found.trap
    if trap is None or trap.share < 0.05:
        return ""
    moves = "grow" if trap.grows else "fall"
    return (
        f"Of its later policies that were examined, {100 * trap.share:.0f} % are one with the gain {trap.gain:.4g}. "
        f"Under that policy the harmonic mean converges to {trap.harmonic:.4g} (SMART's rate to {trap.gain:.4g}; an "
        f"optimal policy is greedy for {greedy_for(found.audit)}), and values {moves} with every step."
    )


def _noise(found: Problem) -> str:
    """Say which of two estimates has the smaller error if all else is equal."""
    rows = {row.estimator: row for row in found.estimators}
    one, other = rows["Harmonic"], rows["Exponential"]
    if one.error_high < other.error_low:
        said = "The harmonic mean is the better estimate here"
    elif other.error_high < one.error_low:
        said = "The ratio of means is the better estimate here"
    else:
        said = "Neither estimate is clearly better here"
    return (
        f"{said}: with the same step size under the optimal policy, the root mean square error of the harmonic "
        f"rate is {_error(one)}, and that of Relaxed-SMART's ratio is {_error(other)}."
    )


# --- The README -----------------------------------------------------------------------


def readme(found: Comparison) -> str:
    """Return the README of a comparison's folder."""
    settings, problems = found.settings, found.problems
    parts = "\n".join(
        [*(_part(problem, settings) for problem in problems), *map(changing.part, found.changing)]
    )
    grids = "\n".join(f"- `{name}`: {_choices(grid)}" for name, grid in settings.grids.items())
    long = (
        f"for {settings.steps:,} steps"
        if settings.time is None
        else f"until the clock reaches {settings.time:g}"
    )
    return f"""# Comparison of agents on {_listed(found.names)}

Made by Sojourn {found.version}.

## What was run

Every agent runs {long}, with {settings.seeds} seeds. Its options are chosen for each problem on
{settings.tuning_seeds} other seeds, from all combinations of these choices (discount rates are divided by the mean duration):

{grids}

If the best choice lies on the edge of its grid, the grid is widened by up to {settings.widen} choices at that end; "edge" marks
an option whose best choice is still the last one. The best options for the *final policy* are those whose greedy
policies have the largest mean gain at the end and, among these, those that earned most. The best options for *earning*
are those that earned most on the way. The two often differ, so each has runs of its own.

A policy is judged by its exact gain g: its *relative gain* is 1 - (gain - g) / |gain|, where gain is the optimal one (if
that is 0, the largest rate of any state and action takes the place of |gain|). *Final policy* is the relative gain of the
policy from the first state, in the long run. *Followed* is the same from the state in which learning ended, for as many
steps as the run had: there, wrong actions in rarely visited states hardly count. *Earned* is what the run itself earned
per unit time, relative in the same way: what is missing to 1 is regret. A run that diverged counts as the worst possible
policy.
*Optimal* is the share of runs that end with an optimal policy, with Wilson's 95 % interval. *Steps to 99 %*
is the median over runs of the steps after which the policy has a relative gain of at least 0.99 and
keeps it ("-" where most runs never do); *time* is the same in units of the problem's time. Intervals
of means are bootstrapped, those of medians are order statistics; both are 95 % intervals over runs.

{parts}
## Files

`comparison.json` has all of this for machines; `results.parquet` has a row for each run and length, with
`policy_gain`, `relative_gain`, `followed` and `earned`; the folder of each problem holds its sweeps. In `figures/`,
`outcomes` shows the final relative gains and `earned` what was earned; the figure of each problem shows the learning
curves and the audit.
"""


def _choices(grid: dict[str, tuple[float, ...]]) -> str:
    several = (f"{option} {', '.join(f'{choice:g}' for choice in grid[option])}" for option in grid)
    return "; ".join(several) or "nothing to choose"


def _part(found: Problem, settings: RunSettings) -> str:
    rows = "\n".join(map(_agent_row, found.agents))
    earnings = "\n".join(map(_earning_row, found.agents))
    audited = "\n".join(
        _limit_row(row.name, limit)
        for row in found.agents
        for limit in found.audit.estimators
        if row.agent in AGENTS and limit.estimator == AGENTS[row.agent].estimator
    )
    errors = "\n".join(f"| `{row.estimator}` | {row.mean:.4g} | {_error(row)} |" for row in found.estimators)
    told = "\n\n".join(textwrap.fill(sentence, 98) for sentence in found.findings)
    return f"""## {found.name}

{found.states:,} state{"" if found.states == 1 else "s"}; optimal gain {found.gain:.6g}. {settings.seeds} runs of each agent.

| agent | options | final policy | followed | optimal | steps to 99 % | time to 99 % | learned rate | earned | regret |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|
{rows}

With the options that earn most on the way:

| agent | options | earned |
|---|---|---:|
{earnings}

{told}

Exact limits under the optimal policy; an optimal policy is greedy for {greedy_for(found.audit)}:

| agent | estimator | limit | optimal policy stays greedy | gain of the greedy policy | growth of values in a step, divided by the step size |
|---|---|---:|---|---:|---:|
{audited}

Each estimator after {settings.estimator_steps:,} steps of the optimal policy, step size {settings.estimator_step_size:g} where it has one, {settings.estimator_seeds} seeds:

| estimator | mean | root mean square error |
|---|---:|---:|
{errors}
"""


def _agent_row(row: AgentResult) -> str:
    steps = _range(row.steps_99, row.steps_99_low, row.steps_99_high)
    time = _range(row.time_99, row.time_99_low, row.time_99_high)
    return (
        f"| {row.name} | {_options(row.options, row.edges)} | {row.relative_gain:.3f} ({row.relative_low:.3f} to "
        f"{row.relative_high:.3f}) | {row.followed:.3f} ({row.followed_low:.3f} to {row.followed_high:.3f}) | "
        f"{100 * row.optimal_share:.0f} % ({100 * row.optimal_low:.0f} to {100 * row.optimal_high:.0f}) | {steps} | "
        f"{time} | {number(row.rate)} | {row.earned:.3f} ({row.earned_low:.3f} to {row.earned_high:.3f}) | "
        f"{number(row.regret)} |"
    )


def _earning_row(row: AgentResult) -> str:
    best = row.earning
    return f"| {row.name} | {_options(best.options, best.edges)} | {best.earned:.3f} ({best.low:.3f} to {best.high:.3f}) |"


def _options(options: dict[str, float], edges: tuple[str, ...]) -> str:
    told = (
        f"{name.replace('_', ' ')} {choice:.3g}{' (edge)' if name in edges else ''}"
        for name, choice in options.items()
    )
    return ", ".join(told)


def _limit_row(name: str, limit: Limit) -> str:
    kept = {True: "yes", False: "no", None: "-"}[limit.keeps_optimum]
    return (
        f"| {name} | `{limit.estimator}` | {number(limit.rate)} | {kept} | "
        f"{number(limit.greedy_gain)} | {number(limit.drift, 3)} |"
    )


def _error(row: EstimatorError) -> str:
    return f"{row.error:.3g} ({row.error_low:.3g} to {row.error_high:.3g})"


def _range(middle: float | None, low: float | None, high: float | None) -> str:
    return "-" if middle is None else f"{_whole(middle)} ({_whole(low)} to {_whole(high)})"


def _whole(number: float | None) -> str:
    return "-" if number is None else f"{number:,.0f}"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
