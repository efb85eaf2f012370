"""Commands about exact answers: solve, audit, compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sojourn.cli.app import AsJson, Jobs, Out, command, echo_json, echo_lines, goes_on, say
from sojourn.cli.parsing import actions_of, estimator_of, floats_of, grids_of, options_of

Name = Annotated[
    str, typer.Argument(help="A problem, such as gosavi; a TOML or JSON file of a model; or module:function.")
]
Options = Annotated[
    list[str] | None, typer.Option("--option", "-o", help="Option of the problem, as key=value.")
]
_EXPLORATION = "0.03,0.1"
_PRINTED = (
    "name", "gain", "lower", "upper", "policy", "states", "solver", "seconds", "state_names", "action_names"
)  # fmt: skip


@command(
    "sojourn solve gosavi",
    "sojourn solve admission-control -o capacity=10 --json",
    "sojourn solve my-queue.toml --out out/my-queue",
    "sojourn solve three-rides --risk",
    "sojourn solve my-line.json --maximise items --per energy",
    'sojourn solve my-line.json --at-most "lost 0.05 per calls" --policy policy.csv',
    "sojourn solve gosavi --discount 0.1 --paid during",
    "sojourn solve my-queue.toml --until broken --steps 100",
)
def solve(
    name: Name,
    option: Options = None,
    maximise: Annotated[str, typer.Option(help="The amount to have most of, by name.")] = "reward",
    per: Annotated[str, typer.Option(help="The amount that it is counted per, by name.")] = "duration",
    at_most: Annotated[
        list[str] | None,
        typer.Option(help='A limit to keep, such as "lost 0.05 per calls"; several may be given.'),
    ] = None,
    at_least: Annotated[
        list[str] | None, typer.Option(help='A limit from below, such as "served 3".')
    ] = None,
    discount: Annotated[
        float | None, typer.Option(help="Maximise the discounted total, with this discount per unit time.")
    ] = None,
    paid: Annotated[
        str, typer.Option(help="When rewards are paid that are discounted: start, end or during a step.")
    ] = "start",
    until: Annotated[
        list[str] | None, typer.Option(help="Maximise the total until this state; several may be given.")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Maximise the total of so many steps.", min=1)] = None,
    risk: Annotated[
        bool,
        typer.Option("--risk", help="Show the policies that stray less from their gain, and what they cost."),
    ] = False,
    policy: Annotated[
        Path | None, typer.Option(help="File for the policy: .csv for a table, .json to load it again.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for solution.json with all that is known of each state, a README and a figure."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Solve a problem or a model exactly: the largest gain, and a policy that reaches it.

    Write costs as negative rewards. If the model counts amounts, such as items
    or calls lost, --maximise and --per ask for the most of one per unit of
    another one, and the rate of each is shown. "steps" is an amount too.
    --at-most and --at-least keep limits, perhaps by a policy that draws its
    action in some states; the price of each limit is shown.

    --risk shows what a calmer ride costs: the policies of which no other one
    earns more and strays less. All are tried if there are at most 2,000.

    --discount, --until and --steps ask for a total from each state instead.
    """
    from sojourn.answers.solution import lines, solve_named
    from sojourn.data.hints import as_json as record
    from sojourn.exact.constraints import limit_of

    limits = [limit_of(each, False) for each in at_most or ()] + [
        limit_of(each, True) for each in at_least or ()
    ]
    given = options_of(option, "--option")
    if discount is not None or paid != "start" or until or steps is not None:
        from sojourn.answers import total

        if limits or risk or per != "duration":
            raise ValueError(
                "--at-most, --at-least, --per and --risk are for gains; leave them out, or --discount, --until and --steps"
            )
        sum_up = total.total_named(
            name, given, maximise=maximise, discount=discount, paid=paid, until=until, steps=steps, policy=policy
        )  # fmt: skip
        if out is not None:
            sum_up.write(out)
        if as_json:
            echo_json(record(sum_up))
        else:
            echo_lines(total.lines(sum_up))
        return
    found = solve_named(
        name,
        given,
        maximise=maximise,
        per=per,
        limits=limits,
        policy=policy,
        whole=out is not None,
        calmer=risk,
    )
    if out is not None:
        found.write(out)
    if as_json:
        written = record(found)
        several = () if found.gains is None else ("gains", "ratio")
        asked = () if (maximise, per) == ("reward", "duration") else ("maximise", "per")
        counted = [key for key in ("rates", "deviation", "closest", "risk") if written[key] is not None]
        limited = () if found.limits is None else ("limits", "prices", "probabilities")
        echo_json({key: written[key] for key in (*_PRINTED, *several, *asked, *counted, *limited)})
    else:
        echo_lines(lines(found))


@command(
    "sojourn audit long-shot",
    "sojourn audit gosavi --policy 1,1 --exploration 0.1",
    "sojourn audit my-queue.toml --out out/my-queue",
    "sojourn audit gosavi --estimator mine:Forgetting",
    'sojourn audit three-rides --estimator "power-mean exponent=-1 weight=duration"',
)
def audit(
    name: Name,
    option: Options = None,
    policy: Annotated[
        str | None, typer.Option(help="Action of each state, such as 0,1,0; an optimal policy by default.")
    ] = None,
    estimator: Annotated[
        list[str] | None, typer.Option(help="An estimator of your own to audit as well, as module:name.")
    ] = None,
    exploration: Annotated[
        float, typer.Option(help="Share of random actions by the learners whose lock-in is predicted.")
    ] = 0.2,
    out: Annotated[Path | None, typer.Option(help="Folder for audit.json and the figure.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compute where every estimator of the rate ends under a policy, and whether that does harm.

    The limits are exact. An estimator does no harm if its limit is one of the
    rates for which an optimal policy is greedy. The policies that a learner
    keeps once it follows them, good or bad, are listed below the limits.
    """
    from sojourn.answers.audit import audit_named, document, lines, write

    followed, options = None if policy is None else actions_of(policy), options_of(option, "--option")
    found = audit_named(
        name, options, followed, exploration, {text: estimator_of(text) for text in estimator or ()}
    )
    shown = [] if out is None else [f"{write(found, options, out)} shows it"]
    if as_json:
        echo_json(document(found, options))
    else:
        echo_lines([*lines(found), *shown])


@command(
    "sojourn compare gosavi long-shot long-return jobs",
    "sojourn compare my-queue.toml --agent planner --agent smart --time 50000 --out out/my-queue",
    "sojourn compare wear offers --agent tile-q --agent deep-q --seeds 5 --out out/observed",
    "sojourn compare pay-rise seasons --agent relaxed-smart --agent planner --out out/changing",
    "sojourn compare jobs --agent harmonic-r --grid centring=0,0.03,0.1,0.3 --exploration 0.1",
    name="compare",
)
def compare_agents(
    names: Annotated[
        list[str],
        typer.Argument(
            help="Problems such as gosavi or wear, files of models, or changing worlds such as pay-rise."
        ),
    ],
    out: Out = Path("out/compare"),
    agent: Annotated[
        list[str] | None,
        typer.Option(help="An agent to compare; may be given several times. By default, nearly all."),
    ] = None,
    steps: Annotated[int, typer.Option(help="Steps of a run.", min=100)] = 30_000,
    time: Annotated[
        float | None,
        typer.Option(help="End runs at this time on the world's clock, instead of after --steps."),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Number of seeds to compare on.", min=1)] = 30,
    tuning_seeds: Annotated[
        int, typer.Option(help="Number of other seeds, to choose options on.", min=1)
    ] = 10,
    exploration: Annotated[
        str, typer.Option(help="Probability of exploring; if several are given, the best is chosen.")
    ] = _EXPLORATION,
    grid: Annotated[
        list[str] | None,
        typer.Option(help="Choices for an option, such as step_size=0.01,0.1 or smart.step_size=0.01,0.1."),
    ] = None,
    widen: Annotated[
        int, typer.Option(help="How many choices may be added at each end of a grid.", min=0, max=20)
    ] = 3,
    jobs: Jobs = None,
) -> None:
    """Compare agents on problems, by the exact gain of the policies they learn and by what they earn.

    Options such as step sizes are tuned for each agent on other seeds, and a
    grid is widened if the best choice is at its edge. In changing worlds,
    agents are compared by what they earn, next to the best policy at each
    time. Where observations cannot be listed, as in wear, tiles and networks
    are compared with their own settings, next to the best policy. If the
    command is interrupted, run it again to continue.
    """
    from sojourn.answers.comparison import observed, plan
    from sojourn.answers.comparison.compare import compare
    from sojourn.answers.comparison.section import lines
    from sojourn.runs.progress import progress

    if observed.observed(names):
        if time is not None or grid or exploration != _EXPLORATION:
            raise ValueError(
                "--time, --grid and --exploration are for problems whose states can be listed; leave them out on "
                f"{names[0]}, where agents have their own settings and runs take --steps"
            )
        wanted = observed.cells(names, agent or (), steps, seeds)
        with goes_on(), progress("compare", sum(cell.steps for cell in wanted)) as advance:
            seen = observed.compare_observed(wanted, out, jobs, advance)
        echo_lines(observed.lines(seen, observed.ahead(seen)))
    else:
        settings = plan.checked_settings(
            plan.Settings(
                steps,
                seeds,
                tuning_seeds,
                time,
                floats_of(exploration, "--exploration"),
                tuple(agent or ()),
                grids_of(grid or ()),
                widen,
            )
        )
        total = sum(plan.num_steps(name, settings) for name in plan.titles(names))
        with goes_on(), progress("compare", total) as advance:
            found = compare(names, out, settings, jobs, advance)
        echo_lines(lines(found))
    say(f"{out / 'README.md'} says more; {out / 'figures'} shows it")
