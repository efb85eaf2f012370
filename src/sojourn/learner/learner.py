"""Learner: an agent that learns in a Gymnasium environment.

    learner = Learner(env)
    learner.train(30_000)
    learner.evaluate(duration=10_000.0)

Each step has its own duration, and the argument `duration` of `Learner` says where to find it; in `train` and
`evaluate`, `duration` is how long to continue. The task never ends: when an episode is truncated, the agent learns
from its last observation as from any other, and continues from the reset; when one is terminated, the first
observation after the reset is what the last action led to. With the same seed, a learner in a world's environment and
`run` in the world give the same agent, bit for bit.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sojourn.agents.networks.protocol import ObservingAgent
from sojourn.agents.protocol import Agent, policy
from sojourn.data.numbers import positive, proper_fraction, shown, whole
from sojourn.deploy.interface import About
from sojourn.deploy.tabulation import Tabulation
from sojourn.envs.places import Trace, exact_model, places_of
from sojourn.envs.protocol import Element, Environment
from sojourn.envs.reader import DurationSource, MaskSource, TableReader
from sojourn.envs.states import Bins
from sojourn.learner import saved
from sojourn.learner.best import BestPolicy, Past, found_best, time_needed
from sojourn.learner.choice import (
    EnvironmentSource,
    MakeAgent,
    MakeObserver,
    Supply,
    chosen_agent,
    observer_for,
    observing_agent,
    with_courses,
)
from sojourn.learner.comparing import (
    GivenPolicy,
    Parameters,
    Range,
    RuleComparison,
    RuleSearch,
    chooser,
    paired,
    ranges,
    rate_with,
    rates_with,
    runs_of_search,
    searched,
    seeds_of,
    student,
)
from sojourn.learner.driver import Choose, Driver, ObservingDriver, TableDriver, interruptible
from sojourn.learner.evaluation import Evaluation, evaluation, followed, paced
from sojourn.learner.facts import recipe_of, recipe_of_agent
from sojourn.learner.history import History
from sojourn.learner.policy import LearnedPolicy, about, observing_policy, policy_of
from sojourn.learner.saved import saved_environment
from sojourn.learner.table_agent import HiddenActions, TableAgent
from sojourn.learner.verdict import Verdict, judged
from sojourn.rules.arrays import Floats, Ints
from sojourn.rules.door import told, warn
from sojourn.rules.long_run import MicroBatches
from sojourn.rules.random import streams
from sojourn.runs.progress import no_progress
from sojourn.runs.progress import progress as progress_bar
from sojourn.runs.recording import Totals

__all__ = ["Callback", "Learner", "saved_environment"]

_BLOCK = 1000  # steps between callbacks, progress reports and warnings
_MEASURED = 10_000.0  # steps of training; the best policy is measured for as long as they took
_LEAST_EVALUATED = 1000.0  # steps of an evaluation in training
_INF = math.inf

Callback = Callable[["Learner"], object]


@told
class Learner:
    """An agent that learns in an environment.

    `env` is an environment, or a function that makes one. With a function, every evaluation makes a new
    environment; otherwise it copies `env`. Not every environment can be copied: for a simulation built on
    generators, for example, give a function, `Learner(make_env, ...)`.

    `agent` is an agent, or one of Sojourn's constructors or its name, which receives the further options. By
    default the learner chooses one; `chosen` says which, and why. `duration` says how long a step took: a key of
    info ("duration", "smdp.duration"), a function of (obs, action, info), or a number. A step may take no time.
    `bins` cuts continuous observations into bins (see `sojourn.envs.states.tabulate`). The mask of allowed
    actions is read from info, next to the duration or at the key `action_mask`, which may also be a function of
    (obs, info). It is respected when acting and when looking ahead; only a `policy_agent` follows its policy
    regardless of masks. `clock` is a key of info with the time, against which durations are checked.

    >>> import gymnasium, sojourn
    >>> env = gymnasium.make("sojourn/TwoState-v0", log_scale=1e-3, max_episode_steps=1000)
    >>> learner = Learner(env, sojourn.harmonic_r, step_size=0.01, rate_step_size=0.01, seed=0)
    >>> learner.train(4000).steps
    4000
    >>> learner.policy
    array([0, 1])
    """

    def __init__(
        self,
        env: EnvironmentSource,
        agent: Agent | MakeAgent | ObservingAgent | MakeObserver | str | None = None,
        *,
        duration: DurationSource = "duration",
        bins: Bins | Tabulation | None = None,
        action_mask: MaskSource | None = None,
        clock: str | None = None,
        seed: int = 0,
        **options: Any,
    ) -> None:
        seed, supply = whole("seed", seed, least=0), Supply(env)
        observer = observer_for(agent, supply.env, bins)
        driver: Driver
        if observer is not None:
            given, sentence = observer
            places = places_of(supply.env, seed, duration, action_mask, clock)
            driver = ObservingDriver(observing_agent(given, options, places), places)
            make = given
        else:
            reader = TableReader(supply.single, duration, action_mask, clock, bins)
            options = with_courses(agent, options, supply.single)
            # Agents that observe are not among these.
            made, sentence = chosen_agent(agent, options, reader.states.num_states, reader.num_actions)  # type: ignore[arg-type]
            make = sentence.partition(",")[0] if agent is None or isinstance(agent, str) else agent
            table = TableAgent(made, streams(seed, 2)[1])
            hidden = HiddenActions(table.q, reader.mask_name, table.worth)
            driver = TableDriver(reader, table, hidden, Trace(supply.env, seed))
        is_made = not isinstance(make, str) and (not callable(make) or isinstance(driver.agent, type(make)))
        driver.recipe = recipe_of_agent(driver.agent) if is_made else recipe_of(make, options)
        self._begin(supply, driver, sentence, Past(), History())

    def _begin(self, supply: Supply, driver: Driver, chosen: str, past: Past, history: History) -> None:
        self._supply, self._driver, self._chosen = supply, driver, chosen
        self._past, self._history = past, history
        self._draw: tuple[object, Choose] | None = None  # from the agent's policy, for `act(sample=True)`
        self._has_guessed = False  # whether `act` has warned about an unvisited state

    @property
    def _table(self) -> TableDriver:
        """The driver of an agent with a table of values."""
        if isinstance(self._driver, TableDriver):
            return self._driver
        raise TypeError(
            "this learner's agent observes and has no table of states, q or policy; ask act(obs) for its action"
        )

    # --- Properties ---

    @property
    def env(self) -> Environment:
        """The training environment."""
        return self._supply.env

    @property
    def seed(self) -> int:
        """The seed of the environment's first episode and of the agent."""
        return self._driver.seed

    @property
    def chosen(self) -> str:
        """Which agent was chosen, and why."""
        return self._chosen

    @property
    def duration(self) -> DurationSource:
        """Where to find the duration of a step."""
        return self._driver.reader.source

    @property
    def states(self) -> Tabulation:
        """How observations are numbered."""
        return self._table.reader.states

    @property
    def num_actions(self) -> int:
        """The number of actions."""
        return self._driver.reader.num_actions

    @property
    def totals(self) -> Totals:
        """Steps, reward and time so far, and those of the greedy steps."""
        return self._driver.totals

    @property
    def agent(self) -> Any:
        """The current agent: a copy or, for an agent of observations, the object itself."""
        return self._driver.agent

    @property
    def q(self) -> Floats:
        """The values of states by actions; -inf where an action is currently not allowed."""
        view = self._table.q.view()
        view.flags.writeable = False
        return view

    @property
    def rate(self) -> float:
        """The learned rate: reward per unit time."""
        return self._driver.rate

    @property
    def policy(self) -> Ints:
        """The greedy action of every state."""
        return policy(self._table.agent) + self._table.reader.first_action

    @property
    def largest_value(self) -> float:
        """The largest |Q|, or the largest weight of a network."""
        return self._driver.largest_value

    @property
    def history(self) -> pl.DataFrame:
        """What could be watched so far: a row every 1,000 steps (of long trainings, every 2,000, 4,000, ...).

        Columns are the totals `steps`, `duration` and `reward`; the learned `rate`; the `largest_value`; the `error` of
        a network's values in the last batch, as a root mean square in units of rewards; what the policy earned when it
        was `evaluated` (see `train`); what was `earned` per unit time since the row before; and the best evaluation so far.
        `sojourn.plot.training` draws it.
        """
        return self._history.frame()

    def act(self, obs: Element, action_mask: ArrayLike | None = None, *, sample: bool = False) -> Any:
        """Return the best action for an observation, of those that a mask allows.

        If the agent has learned a policy, as `ppo` does, that is the likeliest action, or the mean of a continuous
        one; with `sample`, it is drawn from the policy instead. It warns the first time that the state was never
        visited in training; see `known`.
        """
        if sample:
            return self._drawing(self.seed)(obs, action_mask)
        action = self._driver.act(obs, action_mask)
        if not self._has_guessed and isinstance(self._driver, TableDriver) and not self.known(obs):
            self._has_guessed = True
            warn(
                f"the observation {shown(obs)} is of a state that was never visited in training, so its action is a guess; "
                "this is so whenever known(obs) is False"
            )
        return action

    def _drawing(self, seed: int) -> Choose:
        """Return the present policy, with actions drawn from it; `act` goes on with its draws as long as it is the same."""
        self._must_be_stochastic()
        state = self._driver.totals.steps, seed
        if self._draw is None or self._draw[0] != state:
            self._draw = state, self._driver.chooser(None, seed)
        return self._draw[1]

    def _must_be_stochastic(self) -> None:
        if not self._driver.is_stochastic:
            name = getattr(self.agent, "kind", "") or type(self.agent).__name__
            raise ValueError(
                f"sample is True, but {name} has no policy to draw actions from, only values; leave sample out, or use an "
                "agent that learns a policy, such as ppo"
            )

    def known(self, obs: Element) -> bool:
        """Whether the state of an observation was visited in training."""
        return bool(self._table.table.visits[self.states(obs)].any())

    def policy_table(self) -> pl.DataFrame:
        """Return a row for each visited state: the observation, the best action and its value, and how often each occurred.

        If the environment has a model with names of states and actions, these are columns, too.
        """
        return self._learned().table(exact_model(self.env))

    def write_policy(self, path: str | Path) -> None:
        """Write the policy to a .json file, which `load_policy` reads, here and in `sojourn.deploy`.

        A table can also be written to a .csv file; a network to a .onnx file, for other programs, or to a .py file, a module
        that needs nothing but NumPy.
        """
        if isinstance(self._driver, TableDriver):
            self._learned().write(path, exact_model(self.env))
        else:
            agent, forms = self._driver.agent, self._driver.reader.forms()
            observing_policy(agent, *forms, self._about()).write(path)

    def _learned(self) -> LearnedPolicy:
        driver = self._table
        table = driver.table
        return policy_of(
            self.states, driver.reader.first_action, table.values, driver.hidden, table.visits, self._about()
        )

    def _about(self) -> About:
        described = saved.described(self.env)
        return about(self._driver, None if described is None else described["id"])

    # --- Training ---

    def train(
        self,
        steps: int | None = None,
        *,
        duration: float | None = None,
        evaluate_every: int | None = None,
        callbacks: Callback | Sequence[Callback] = (),
        progress: bool = False,
    ) -> Totals:
        """Train for a number of steps, or for a time on the environment's clock; return the totals.

        `duration` is the time to train for; where to find the duration of a step is an argument
        of `Learner`. With `evaluate_every`, the greedy policy is followed without learning after every so many steps,
        such as 10,000, for a tenth of the time that these took, but of at least 1,000 steps, in a held-out environment as
        in `evaluate`; `history` has what it earned, and `best` considers the policy that earned most. Callbacks are called with the learner after every 1,000 steps and at the
        end; one that returns True ends the training. Ctrl-C ends it, too, between two steps; the
        learner can then be used, saved and trained further. So does a learned rate far beyond every reward per unit
        time that a step has had: it is impossible, and what is learned with it is wrong. `progress` shows a bar on a terminal,
        and lines elsewhere.
        """
        if (steps is None) == (duration is None):
            raise TypeError("train takes either a number of steps or a duration; give exactly one of them")
        driver, called = self._driver, [callbacks] if callable(callbacks) else list(callbacks)
        every = _INF if evaluate_every is None else whole("evaluate_every", evaluate_every)
        last = until = _INF
        if steps is not None:
            last = driver.totals.steps + whole("steps", steps)
        if duration is not None:
            until = driver.totals.duration + _how_long("train", duration)
        total, unit = (steps, "steps") if steps is not None else (until - driver.totals.duration, "time")
        bar = progress_bar("training", total, unit) if progress else contextlib.nullcontext(no_progress)
        with bar as advance, interruptible() as asked:
            driver.begin()
            still = 0  # steps since time last advanced, in whole blocks
            while not asked and driver.totals.steps < last and driver.totals.duration < until:
                taken, clock = driver.totals.steps, driver.totals.duration
                self._advance(min(last, taken + _BLOCK), until, every, asked)
                steps_done, passed = driver.totals.steps - taken, driver.totals.duration - clock
                still = 0 if passed > 0.0 else still + steps_done
                driver.reader.time_must_pass(still)
                if progress:
                    done = steps_done if unit == "steps" else passed
                    wrong = " (impossible)" if driver.limits.sentence(self.rate) else ""
                    advance(done, note=f"rate {self.rate:.4g}{wrong}, |Q| {self.largest_value:.3g}")
                for sentence in driver.warnings():
                    warn(sentence)
                wishes = [callback(self) for callback in called]  # call all of them
                if self._is_lost() or any(isinstance(wish, bool | np.bool_) and wish for wish in wishes):
                    break
        if asked:
            raise KeyboardInterrupt
        return self.totals

    def _is_lost(self) -> bool:
        """Warn if the rate is impossible; return whether it is so far off that to go on is of no use."""
        limits, rate = self._driver.limits, self.rate
        sentence, lost = limits.sentence(rate), limits.is_lost(rate)
        if lost:
            warn(
                f"training stops after {self.totals.steps:,} steps: {sentence}; a smaller step size, another estimator or "
                "another agent may help, and `best` is the best policy so far"
            )
        elif sentence and not limits.has_warned:
            warn(
                f"{sentence}; if it stays so, a smaller step size, another estimator or another agent may help"
            )
        limits.has_warned = limits.has_warned or sentence != ""
        return lost

    def _advance(self, last: float, until: float, every: float, asked: list[int]) -> None:
        """Train up to a step or a time. What is due at some steps is done there, wherever training was interrupted."""
        driver, past, history = self._driver, self._past, self._history
        self._evaluated_if_due(every, asked)
        while not asked and driver.totals.steps < last and driver.totals.duration < until:
            due = (driver.totals.steps // every + 1) * every if every < _INF else _INF
            driver.advance(min(last, past.due, history.due, due), until, asked)
            past.note(driver)
            history.note(driver)
            self._evaluated_if_due(every, asked)

    def _evaluated_if_due(self, every: float, asked: list[int]) -> None:
        """Write into the history what the policy earns, if that is due; keep the policy if it is the best so far."""
        steps, history, past = self.totals.steps, self._history, self._past
        if asked or not steps // every > history.evaluated // every:
            return
        length = max(0.1 * every, _LEAST_EVALUATED) * (self.totals.duration or steps) / steps
        seed = int(np.random.SeedSequence([self.seed, steps, 34]).generate_state(1)[0])
        try:
            earned = self.evaluate(duration=length, seed=seed).rate
        except KeyboardInterrupt:
            return  # it is made up for when training continues
        best = max((row.evaluated for row in history.rows if row.evaluated == row.evaluated), default=-_INF)
        history.note(self._driver, earned)
        policy = self._driver.policy() if earned > best else None
        if policy is not None:
            past.leader = {"steps": steps, "policy": policy}

    # --- Evaluation ---

    def evaluate(
        self,
        *,
        duration: float,
        policy: GivenPolicy | None = None,
        sample: bool = False,
        env: EnvironmentSource | None = None,
        seed: int = 1,
        level: float = 0.95,
        progress: bool = False,
    ) -> Evaluation:
        """Return what the greedy policy earns per unit time, with a confidence interval.

        `policy` is one to follow instead, as `baseline` in `verdict`, such as `best` or one that `load_policy`
        returns. If the agent has learned a policy that can draw its actions, `sample` says whether it does or takes
        the likeliest ones; `actions` of the result says which was measured.

        The policy is followed for the time `duration`, without learning, in a new environment or a copy, or
        in `env`; the learner does not change. In a slow system that time may be too short for an interval;
        `needed` then says roughly how long it should be. See `sojourn.rules.long_run`. `progress` shows a bar
        on a terminal, and lines elsewhere.
        """
        until, level = _how_long("evaluate", duration), proper_fraction("level", level)
        seed = whole("seed", seed, least=0)
        driver = self._driver
        with self._supply.another(env) as other, paced(until, progress) as pacer:
            choose, way = self._policy_to_follow(policy, sample, seed)
            seen, _ = followed(other, driver.reader, pacer, choose, until, seed)
        return evaluation(seen, level, way)

    def _policy_to_follow(self, policy: GivenPolicy | None, sample: bool, seed: int) -> tuple[Choose, str]:
        """Return a given policy or the present one, and how it takes its actions."""
        driver = self._driver
        if policy is not None and sample:
            raise ValueError(
                "sample is for the learner's own policy; leave it out, as a given policy decides by itself how it acts"
            )
        if isinstance(policy, BestPolicy):
            return policy.to_follow(seed), policy.evaluation.actions
        if policy is not None:
            return chooser(policy, driver.reader, "policy"), ""
        if sample:
            self._must_be_stochastic()
            return driver.chooser(None, seed), "drawn"
        return driver.greedy(), "mode" if driver.is_stochastic else ""

    @property
    def best(self) -> BestPolicy:
        """The best policy in the course of the training.

        The learner keeps 8 to 15 policies from the course of its training, evenly spaced. The best of these and the
        present one is found when it is first asked for, and again after further training, as `find_best` does without
        arguments; see there.
        """
        choice = self._past.choice
        if choice is None or choice.trained != self.totals.steps:
            return self.find_best()
        return BestPolicy(self._driver, choice, self.seed)

    def find_best(
        self,
        *,
        duration: float | None = None,
        sample: bool | None = None,
        env: EnvironmentSource | None = None,
        seed: int = 1,
        level: float = 0.95,
        progress: bool = False,
    ) -> BestPolicy:
        """Find the best policy in the course of the training, and measure what it earns.

        All policies that were kept are followed without learning in the same held-out episodes, then the better half
        of them for longer in others, and so on. The winner is then measured for the time `duration` in further
        episodes, so that its rate is not too good; by default, for as long as 10,000 steps took in training. Each
        round of the choice takes twice as long. The episodes are those of a new environment or a copy, or of `env`. A
        policy that can draw its actions is tried in both ways, unless `sample` says in which. The learner does not
        change, but remembers the policy as `best`, also in its file.
        """
        driver, totals, level = self._driver, self.totals, proper_fraction("level", level)
        seed = whole("seed", seed, least=0)
        if duration is None:
            duration = _MEASURED * totals.duration / totals.steps if totals.duration else _MEASURED
        until = _how_long("find_best", duration)
        ways = ["drawn" if sample else "mode"] if driver.is_stochastic else [""]
        if sample:
            self._must_be_stochastic()
        elif sample is None and driver.is_stochastic:
            ways = ["mode", "drawn"]
        total = time_needed(driver, self._past, until, ways)
        with self._supply.another(env) as other, paced(total, progress) as pacer:

            def follow(choose: Choose, time: float, episode: int) -> MicroBatches:
                return followed(other, driver.reader, pacer, choose, time, episode)[0]

            self._past.choice = found_best(driver, self._past, follow, until, seed, ways, level)
        return self.best

    def verdict(
        self,
        *,
        duration: float,
        baseline: GivenPolicy | None = None,
        env: EnvironmentSource | None = None,
        seed: int = 1,
        level: float = 0.95,
        progress: bool = False,
    ) -> Verdict:
        """Return what the greedy policy earns, and reasons not to trust it, if any.

        The policy is followed as in `evaluate`; the policy from halfway through the training may be followed,
        too. `baseline` is your own policy to compare with: a function of the observation, a mapping from
        observations to actions, or an action for each state. The comparison takes ten further runs of each
        policy, with the same seeds.
        """
        until, level = _how_long("verdict", duration), proper_fraction("level", level)
        seed = whole("seed", seed, least=0)
        with self._supply.another(env) as other:
            return judged(self._driver, other, until, seed, level=level, baseline=baseline, progress=progress)

    def compare(
        self,
        rule: GivenPolicy,
        other: GivenPolicy | None = None,
        *,
        duration: float,
        seeds: int | Sequence[int] = 10,
        env: EnvironmentSource | None = None,
        level: float = 0.95,
        progress: bool = False,
    ) -> RuleComparison:
        """Return how much more one rule earns per unit time than another one, followed with the same seeds.

        A rule is a function of the observation, a mapping from observations to actions, an action for each state, a policy
        that `load_policy` returns, or a learner. Without `other`, `rule` is compared with this learner's greedy policy.
        Each is followed for the time `duration` with each of the `seeds`: those listed, or as many as asked for. Nothing is
        learned, and the learner does not have to be trained. See `sojourn.learner.comparing`.

        >>> import sojourn as sj
        >>> shop = sj.Learner(sj.envs.make("sojourn/AdmissionControl-v0", {"compiled": False}))
        >>> found = shop.compare(lambda jobs: jobs < 3, lambda jobs: jobs < 1, duration=500.0, seeds=4)
        >>> found.low > 0.0
        True
        """
        until, level, listed_seeds = (
            _how_long("compare", duration),
            proper_fraction("level", level),
            seeds_of(seeds),
        )
        driver = self._driver
        names = (("rule", rule), ("other rule", self if other is None else other))
        rules = [
            driver.greedy() if given is self else chooser(given, driver.reader, name) for name, given in names
        ]
        total = 2 * len(listed_seeds) * until
        with self._supply.another(env) as place, paced(total, progress) as pacer:
            follow = partial(followed, place, driver.reader, pacer)
            return paired(rates_with(follow, rules, listed_seeds, until), level)

    def search(
        self,
        rule: Callable[..., GivenPolicy],
        parameters: Mapping[str, Range],
        *,
        duration: float,
        tries: int = 32,
        seeds: int | Sequence[int] = 20,
        env: EnvironmentSource | None = None,
        level: float = 0.95,
        progress: bool = False,
    ) -> RuleSearch:
        """Search for the best parameters of a rule, and measure them on seeds that the search has not seen.

        `rule` is a function of the parameters that returns a rule, as `compare` takes it; `parameters` has the two ends of
        the range of each, whole numbers or real ones. `tries` candidates are followed for the time `duration` each, with
        common seeds, and the better half again with more of them, and so on: about 14 `duration` for each of `tries`. The winner
        is then followed with `seeds`, and compared with what this learner has learned, if it was trained. See
        `sojourn.learner.comparing`.

        >>> import sojourn as sj
        >>> shop = sj.Learner(sj.envs.make("sojourn/AdmissionControl-v0", {"compiled": False}))
        >>> found = shop.search(lambda room: lambda jobs: jobs < room, {"room": (1, 8)}, duration=200.0, seeds=4)
        >>> found.parameters["room"] > 2, len(found.tried)
        (True, 8)
        """
        until, level, fresh = (
            _how_long("search", duration),
            proper_fraction("level", level),
            seeds_of(seeds),
        )
        tries, space, driver = whole("tries", tries, least=2), ranges(parameters), self._driver
        has_learned = driver.totals.steps > 0
        total = ((1 + has_learned) * len(fresh) + runs_of_search(tries)) * until
        with self._supply.another(env) as place, paced(total, progress) as pacer:
            follow = partial(followed, place, driver.reader, pacer)

            def run(point: Parameters, seed: int) -> float:
                return rate_with(follow, chooser(rule(**point), driver.reader, "rule"), seed, until)

            best, tried = searched(run, space, tries, max(fresh) + 1)
            policy = rule(**best)
            rules = [chooser(policy, driver.reader, "rule")]
            if has_learned:
                rules.append(driver.greedy())
            rates = rates_with(follow, rules, fresh, until)
        rate, half = student(rates[:, 0], level)
        learned = paired(rates, level) if has_learned else None
        return RuleSearch(
            best,
            policy,
            rate,
            rate - half,
            rate + half,
            level,
            len(fresh),
            learned,
            tried,
            space.at_end(best),
        )

    # --- Files ---

    def save(self, path: str | Path) -> None:
        """Write everything needed to continue: the agent, its random stream, and the environment's position.

        The file contains only data. A `duration` or an `action_mask` that is a function is not saved; pass it
        to `load` again.
        """
        saved.write(Path(path), self._driver, self._past, self._history)

    @classmethod
    def load(
        cls,
        path: str | Path,
        env: EnvironmentSource,
        *,
        duration: DurationSource | None = None,
        action_mask: MaskSource | None = None,
        agent: MakeObserver | None = None,
    ) -> Learner:
        """Restore a saved learner, in an environment like the one it was trained in.

        If it is the same environment, training continues as if it had never been interrupted; otherwise it
        begins a new episode. Give `duration` and `action_mask` if they are found elsewhere than before, or
        were functions. `agent` is a function that makes your own agent of observations, which then gets its
        state from the file.
        """
        supply, learner = Supply(env), cls.__new__(cls)
        driver, past, history = saved.read(Path(path), supply, duration, action_mask, agent)
        learner._begin(supply, driver, f"{type(driver.agent).__name__}, as it was saved", past, history)  # noqa: SLF001 - its own class
        return learner


def _how_long(name: str, duration: float) -> float:
    """Return how long to continue; refuse an argument that says where to find the duration of a step."""
    if isinstance(duration, str) or callable(duration):
        raise TypeError(
            f"duration is {shown(duration)}; {name}(duration=...) must be a number, how long to continue; say where to "
            "find the duration of a step in Learner(..., duration=...)"
        )
    return positive("duration", duration)
