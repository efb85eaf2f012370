"""The pictures beside the examples of the first page and of the gallery, drawn from the pages' own programs.

    python docs/pictures.py

writes `docs/figures/door-*.svg` and `docs/figures/gallery-*.svg`; it takes a minute.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import sojourn as sj
from sojourn.answers import policy_map
from sojourn.answers.notebook import drawn
from sojourn.models import Option, from_options
from sojourn.report.charts import Axis, Lines, Plain, Series, Sheet, Whisker, Whiskers
from sojourn.report.figures import write
from sojourn.report.looks import BLACK, BLUE, GREY, RED, Look
from sojourn.report.plot import risk_chart

HERE = Path(__file__).resolve().parent
# What a reader has, the file of the picture and what it shows. The site puts each below its program.
PICTURES = {
    "a model": ("door-model", "Which kind of jobs to serve, by how many there are of each: the first, whenever there are any"),
    "a simulator": ("door-simulator", "The exact gain of each rule for repairs, and what the learned policy earns, with its interval"),
    "a log": ("door-log", "What the log earned, and what the better policy would earn, with intervals"),
    "a Gymnasium environment": ("door-environment", "The exact gain of each limit for the queue, and what the learned policy earns, with its interval"),
    "drifting data": ("door-drift", "Pay per hour, and its estimates by AdaptiveRatio and by all data since the beginning"),
    "a paper to check": ("door-paper", "Where each estimate of the rate ends in long-shot, and from which rate on A is best"),
}  # fmt: skip
TRUTH, FIRST, SECOND = Look(GREY, 1, None), Look(BLUE, 0, None), Look(RED, 0, None)


def programs(readme: str) -> Iterator[tuple[str, str]]:
    r"""Yield what a reader has, and the program for it.

    >>> list(programs("## I have a model\nSo:\n```python\nprint(1)\n```\n## Else"))
    [('a model', 'print(1)\n')]
    """
    for part in readme.split("## I have ")[1:]:
        title, _, body = part.partition("\n")
        yield title, body.split("```python\n")[1].split("```")[0]


def model(made: dict[str, Any]) -> Plain:
    """Draw which queue is served where, without the states in which one of the two is nearly full."""
    whole = drawn(made["best"].worth)
    inner = [at for at, place in enumerate(whole.places or ()) if max(map(int, place)) <= 12]
    places, actions = [made["model"].labels[at] for at in inner], [whole.actions[at] for at in inner]
    axes = ("jobs of the first kind", "jobs of the second kind")
    return policy_map.maps(whole._replace(places=places, actions=actions, axes=axes))[0]._replace(title="")


def simulator(made: dict[str, Any]) -> Plain:
    """Draw what each rule for repairs earns, and what the learned one does when it is followed."""
    rules = {f"repair at {wear}": (sum(range(6 - wear, 6)) - 3.0) / (wear + 2.0) for wear in (1, 2, 3, 4)}
    return among({**rules, "never repair": 1.0}, made["learner"].evaluate(duration=5_000.0), "per hour")


def environment(made: dict[str, Any]) -> Plain:
    """Draw what each limit of the queue earns, and what the learned policy does when it is followed."""
    queue = sj.problems.admission_control()
    limits = {
        f"up to {most} in the queue": sj.evaluate(
            queue, [int(n < most) for n in range(queue.num_states)]
        ).gain
        for most in range(1, 7)
    }
    return among(limits, made["learner"].evaluate(duration=20_000.0), "per unit time")


def among(rules: dict[str, float], found: sj.learner.Evaluation, unit: str) -> Plain:
    """Draw the exact gains of some rules, and the measured one of a learned policy."""
    rows = [Whisker(name, Look(GREY, 0, 3), gain) for name, gain in rules.items()]
    learned = Whisker("the learned policy", Look(BLUE, 0, 0), found.rate, found.low, found.high)
    return Whiskers("", Axis(f"gain {unit}"), [*rows, learned], reference=max(rules.values()))


def log(made: dict[str, Any]) -> Plain:
    """Draw what the log says about both policies."""
    habit, better = made["found"].behaviour, made["found"]
    rows = [
        Whisker("so far", Look(RED, 0, 1), habit.rate, habit.low, habit.high),
        Whisker("better", Look(BLUE, 0, 0), better.gain, better.low, better.gain),
        Whisker("the truth", Look(GREY, 0, 3), 12 / 13),
    ]
    return Whiskers("", Axis("fares per minute"), rows)


def drift(made: dict[str, Any]) -> Plain:
    """Draw both estimates along the jobs."""
    pay = np.repeat([1.0, 3.0, 1.0], 2_000)
    now, ever = sj.RateMeter(sj.rates.AdaptiveRatio()), sj.RateMeter(sj.Cumulative())
    jobs, found = range(20, 6_001, 20), []
    for job, (reward, duration) in enumerate(zip(made["euros"], made["hours"], strict=True), start=1):
        now.update(reward, duration)
        ever.update(reward, duration)
        if job % 20 == 0:
            found.append((now.rate, ever.rate))
    series = [
        Series("pay per hour", TRUTH._replace(dash=0), jobs, [pay[job - 1] for job in jobs], weight="wide"),
        Series("AdaptiveRatio", FIRST, jobs, [one for one, _ in found]),
        Series("since the beginning", SECOND, jobs, [one for _, one in found]),
    ]
    return Lines("", Axis("jobs"), Axis("per hour"), series)


def paper(made: dict[str, Any]) -> Plain:
    """Draw where estimates end."""
    found = sj.audit(made["problem"])
    names = {
        "Cumulative": "all reward / all time", "MeanOfRates": "mean of the rates", "WeightedHarmonic": "harmonic, weighted",
        "Harmonic": "harmonic", "Fixed": "time does not count",
    }  # fmt: skip
    rates = [(names[name], float(found[name].rate or 0.0)) for name in names]
    rows = [Whisker(name, Look(BLUE if rate > found.low else RED, 0, 0), rate) for name, rate in rates]
    return Whiskers("", Axis(f"rate; A is best at rates above {found.low:.2f}"), rows, reference=found.low)


def centre(made: dict[str, Any]) -> Sheet:
    """Draw what each limit on the share of lost calls costs."""
    bounds = np.array([0.005, 0.0075, *np.linspace(0.01, 0.3, 30)])
    found = sj.exact.frontier(made["model"], sj.exact.at_most("lost", 0.05, per="calls"), bounds)
    series = [
        Series("the best policy", FIRST, 100.0 * bounds, -found.table()["gain"].to_numpy()),
        Series("at most 5 %", Look(RED, 0, 0), [5.0], [-made["best"].gain], kind="points"),
    ]
    axes = Axis("calls that may be lost, in %"), Axis("calls that wait, on average")
    return Sheet([[Lines("", *axes, series)]], (5.2, 2.6))


def mining(made: dict[str, Any]) -> Sheet:
    """Draw what the best strategy earns for each share of the power, beside honest mining."""
    shares = np.linspace(0.25, 0.475, 10)
    series = [Series("honest", TRUTH, 100.0 * shares, 100.0 * shares)]
    for followers, look in ((0.0, FIRST), (1.0, SECOND)):
        gains = [
            sj.solve(
                sj.models.explore((1, 0, 0), partial(made["moves"], power=power, followers=followers))
            ).gain
            for power in shares
        ]
        name = "selfish, others follow" if followers else "selfish, nobody follows"
        series.append(Series(name, look, 100.0 * shares, 100.0 * np.array(gains)))
    axes = Axis("share of the computing power, in %"), Axis("share of the blocks, in %")
    return Sheet([[Lines("", *axes, series)]], (5.2, 2.8))


def replacement(made: dict[str, Any]) -> Sheet:
    """Draw what each age of replacement costs, by hand, and what was solved."""
    ages, cost = np.arange(5, 101), made["cost"]
    series = [
        Series("replaced at this age, by hand", FIRST, ages, [cost(age) for age in ages]),
        Series("solved", Look(RED, 0, 0), [made["age"]], [-made["best"].gain], kind="points"),
        Series("never replaced before it fails", TRUTH, ages[[0, -1]], [cost(199)] * 2),
    ]
    return Sheet([[Lines("", Axis("weeks"), Axis("cost of a week", ends=(0.1, 0.45)), series)]], (5.2, 2.8))


def inventory(made: dict[str, Any]) -> Sheet:
    """Draw what ordering up to each level costs, and what was solved."""
    levels = sorted({up_to for _, up_to in made["rules"]})
    best = [min(cost for (_, at), cost in made["rules"].items() if at == up_to) for up_to in levels]
    series = [
        Series("with the best s for each, by hand", FIRST, levels, best),
        Series("solved", Look(RED, 0, 0), [made["up_to"]], [-made["best"].gain], kind="points"),
    ]
    return Sheet([[Lines("", Axis("ordered up to"), Axis("cost of a period"), series)]], (5.2, 2.6))


def requests(made: dict[str, Any]) -> Sheet:
    """Draw what each rule is worth, and where the learned price of a second ended."""
    easy, hard = made["answers"].values()
    sizes = ("small", "large")
    rows = [
        Whisker(
            f"easy {sizes[i]}, hard {sizes[j]}",
            Look(GREY, 0, 3),
            (easy[i][0] + hard[j][0]) / (easy[i][1] + hard[j][1]),
        )
        for i in range(2)
        for j in range(2)
    ]
    rows.append(Whisker("the agent's estimate", Look(BLUE, 0, 0), made["agent"].values.price))
    return Sheet(
        [[Whiskers("", Axis("value per second"), rows, reference=max(row.value for row in rows[:4]))]],
        (5.2, 1.9),
    )


def engines(made: dict[str, Any]) -> Sheet:
    """Draw what replacing from a mileage on costs, by the log and by hand, beside what was done."""
    gains, usual = made["advice"].gains, made["usual"]
    miles = np.array([mile for mile in gains if mile is not None and mile >= 100_000])
    hand = [-made["by_hand"](np.arange(made["size"]) >= mile // 5_000) for mile in miles[::3]]
    far, start = miles / 1_000, made["advice"].start / 1_000
    series = [
        Series("from this mileage on, by the log", FIRST, far, [-gains[mile] for mile in miles]),
        Series("the same by hand", Look(BLACK, 0, 3), far[::3], hand, kind="points"),
        Series("what was done, with its interval", SECOND, far[[0, -1]], [-usual.rate] * 2, [-usual.high] * 2, [-usual.low] * 2),
        Series("the advice, at most", Look(BLUE, 0, 0), [start], [-made["advice"].low], kind="points"),
    ]  # fmt: skip
    axes = Axis("thousand miles at which an engine is replaced"), Axis("cost of a month", ends=(100.0, 260.0))
    return Sheet([[Lines("", *axes, series)]], (5.2, 2.8))


def turbofans(made: dict[str, Any]) -> Sheet:
    """Draw what replacing from a wear on costs, by the log and by brute force, beside the best age and running to failure."""
    gains, worn = made["by_wear"].gains, made["by_wear"]
    levels = np.array([level for level in made["levels"] if level >= 47.3])
    ends = levels[[0, -1]]
    series = [
        Series("from this wear on, by the log", FIRST, levels, [-gains[level] for level in levels]),
        Series("on these very engines", Look(BLACK, 0, 3), levels, [-made["levels"][level] for level in levels], kind="points"),
        Series("the advice, at most", Look(BLUE, 0, 0), [worn.start], [-worn.low], kind="points"),
        Series("at the best age", SECOND, ends, [-max(made["ages"].values())] * 2),
        Series("run to failure", TRUTH, ends, [-worn.behaviour] * 2),
    ]  # fmt: skip
    axes = Axis("pressure at which an engine is replaced"), Axis("cost of a cycle", ends=(0.0, 0.55))
    return Sheet([[Lines("", *axes, series)]], (5.2, 2.8))


def ride(made: dict[str, Any]) -> Sheet:
    """Draw what the wild and the calm ride earn beyond 8 an hour, and what a calmer line of jobs costs."""
    hours = np.arange(0.0, 1001.0, 3.0)
    reach = 1.96 * sj.evaluate(made["rides"], {"choice": "wild"}).deviation * np.sqrt(hours)
    rng = np.random.default_rng(4)
    runs = np.cumsum(rng.choice([-14.0, 14.0], size=(6, len(hours) - 1)), axis=1)
    series = [
        Series("wild, 95 % of the runs", SECOND, hours, np.zeros(len(hours)), -reach, reach, weight="thin"),
        *(Series("wild", SECOND, hours, np.concatenate([[0.0], run]), weight="thin") for run in runs),
        Series("calm", FIRST, hours, np.zeros(len(hours)), weight="wide"),
    ]
    left = Lines("", Axis("hours"), Axis("earned beyond 8 an hour"), series)
    front = sj.exact.risk_frontier(sj.problems.admission_control(capacity=10))
    return Sheet([[left, risk_chart(front.gains, front.deviations, is_exact=True)]], (7.4, 2.9))


def options(made: dict[str, Any]) -> Sheet:
    """Draw what is earned with each set of actions, along the first steps, as a mean of ten runs."""
    sets = {"single steps": made["steps"], "options": made["doors"], "both": made["steps"] + made["doors"]}
    looks, window, series = (SECOND, FIRST, Look(BLACK, 0, None)), 2_500, []
    for (name, chosen), look in zip(sets.items(), looks, strict=True):
        best = 1000.0 * sj.solve(from_options(made["rooms"], chosen)).gain
        earned = np.zeros((10, 20))
        for seed in range(10):
            env = sj.envs.Options(sj.envs.WorldEnv(sj.worlds.Tabular(made["rooms"])), chosen)
            kwargs = {"step_size": 0.1, "rate_step_size": 0.001, "exploration": 0.1, "seed": seed}
            learner = sj.Learner(env, "differential_q", **kwargs)
            before = learner.totals
            for place in range(20):
                after = learner.train(duration=window * (place + 1) - before.duration)
                earned[seed, place] = (after.reward - before.reward) / (after.duration - before.duration)
                before = after
        series.append(Series(name, look, window * (np.arange(20) + 0.5), 1000.0 * earned.mean(axis=0)))
        if name != "both":  # whose best is that of single steps
            series.append(Series("", look._replace(dash=1), [0.0, 50_000.0], [best, best], weight="thin"))
    return Sheet([[Lines("", Axis("steps"), Axis("earned in 1,000 steps"), series)]], (5.2, 2.8))


def holding(made: dict[str, Any]) -> Sheet:
    """Draw what is earned at each price of a decision, with lengths that are fixed or free."""
    prices, series = np.linspace(0.0, 3.0, 13), []
    for lengths in ([1], [2], [4], [8], [1, 2, 4, 8]):
        held = [Option(road, steps=length) for road in (0, 1) for length in lengths]
        gains = [sj.solve(from_options(made["light"], held, price=price)).gain for price in prices]
        name = "free" if len(lengths) > 1 else f"every {lengths[0]} s"
        look = FIRST if len(lengths) > 1 else Look(GREY, (0, 1, 2, 3)[(1, 2, 4, 8).index(lengths[0])], None)
        series.append(Series(name, look, prices, gains))
    return Sheet([[Lines("", Axis("price of a decision"), Axis("earned a second"), series)]], (5.2, 2.8))


def station(made: dict[str, Any]) -> Sheet:
    """Draw what each rule earns, exactly and in the search, beside what was learned."""
    exact, tried, ends = made["exact"], made["found"].tried, np.array([10.0, 140.0])
    points = [trial for trial in tried if trial.parameters["below"] <= len(exact)]
    series = [
        Series("rules, exactly", FIRST, 10.0 * np.arange(1, len(exact) + 1), exact),
        Series("rules in the search", Look(GREY, 0, 0), [10.0 * each.parameters["below"] for each in points], [each.rate for each in points], kind="points"),
        Series("learned with the time", Look(BLACK, 1, None), ends, [made["sees"].evaluation.rate] * 2),
        Series("learned without it", SECOND, ends, [made["verdict"].evaluation.rate] * 2),
    ]  # fmt: skip
    axes = Axis("litres below which the truck is called"), Axis("earned a minute", ends=(0.0, 0.36))
    return Sheet([[Lines("", *axes, series)]], (5.2, 2.8))


GALLERY: dict[str, Callable[[dict[str, Any]], Sheet]] = {
    "two-queues": lambda made: Sheet([[model(made)]], (5.2, 3.6)), "call-centre": centre, "selfish-mining": mining, "inventory": inventory,
    "replacement": replacement, "worth-my-time": requests,
    "rougher-ride": ride, "options": options, "holding": holding, "gas-station": station,
}  # fmt: skip
# Pages whose data are not part of the project, and the folder of the data; their pictures are drawn where it is.
WITH_DATA = {"buses": (engines, "buses"), "turbofans": (turbofans, "cmapss")}
# The page of a picture and which of its programs, unless it is the first of its own.
PLACES = {"holding": ("options", 3)}
WHOLE = ("inventory", "replacement", "gas-station")  # pictures of what all programs of their page made
DRAWN: dict[str, Callable[[dict[str, Any]], Plain]] = {
    "a model": model, "a simulator": simulator, "a log": log, "a Gymnasium environment": environment,
    "drifting data": drift, "a paper to check": paper,
}  # fmt: skip


def main() -> None:
    """Run the programs, and draw a picture for each."""
    sheets, doors = {}, {}
    for name, draw in GALLERY.items():
        page, number = PLACES.get(name, (name, 0))
        text = (HERE / "gallery" / f"{page}.md").read_text(encoding="utf-8")
        program = "\n".join(_programs(text)) if name in WHOLE else _programs(text)[number]
        sheets[name] = draw(_run(program))
        write(sheets[name], HERE / "figures" / f"gallery-{name}", ["svg"])
    for page, (draw, data) in WITH_DATA.items():
        if (folder := HERE.parents[1] / "shared" / "data" / data).is_dir():
            text = (HERE / "gallery" / f"{page}.md").read_text(encoding="utf-8")
            with contextlib.chdir(folder):
                made = _run("\n".join(_programs(text)))
            write(draw(made), HERE / "figures" / f"gallery-{page}", ["svg"])
    for title, program in programs((HERE.parent / "README.md").read_text(encoding="utf-8")):
        doors[title] = chart = DRAWN[title](_run(program))
        height = 0.9 + 0.22 * len(chart.rows) if isinstance(chart, Whiskers) else 2.6
        write(Sheet([[chart]], (5.2, height)), HERE / "figures" / PICTURES[title][0], ["svg"])
    limits = sheets["call-centre"].rows[0][0]
    first = [
        limits._replace(title="a model: what each limit costs, proven"),
        doors["a simulator"]._replace(title="a simulator: learned, beside the exact"),
        doors["a log"]._replace(title="a log: what it earned, and could"),
    ]
    write(Sheet([first], (11.0, 3.2)), HERE / "figures" / "first", ["svg"])


def _programs(page: str) -> list[str]:
    r"""Return all programs of a page, and what its dialogues are asked.

    >>> _programs("```python\nx = 1\n```\n```pycon\n>>> x\n1\n```")
    ['x = 1\n', 'x\n']
    """
    found = []
    for block in page.split("```py")[1:]:
        kind, _, text = block.split("```")[0].partition("\n")
        lines = text.splitlines(keepends=True)
        asked = (line[4:] for line in lines if line.startswith((">>> ", "... ")))
        found.append(text if kind == "thon" else "".join(asked))
    return found


def _run(program: str) -> dict[str, Any]:
    made: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(program, made)  # noqa: S102 - our own documentation
    return made


if __name__ == "__main__":
    main()
