"""Reads a policy from a file, without the environment that it was learned in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sojourn.agents.checks import ready_agent
from sojourn.data.hints import check_kind
from sojourn.envs.tabulation import Tabulation
from sojourn.learner.archive import format_of, read_archive
from sojourn.learner.described import NETWORK_FORMAT
from sojourn.learner.exported import LearnedPolicy, policy_of
from sojourn.learner.held import HeldAgent
from sojourn.learner.masks import HiddenActions
from sojourn.learner.saved import FORMAT, VERSION, Saved
from sojourn.rules.door import told


@told
def load_policy(path: str | Path) -> LearnedPolicy:
    """Return the policy in a JSON file or in the file of a saved learner. No environment is needed.

    >>> import tempfile
    >>> import sojourn as sj
    >>> learner = sj.Learner(sj.WorldEnv(sj.TwoState(log_scale=1e-3), compiled=False), seed=0)
    >>> totals = learner.train(100)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     learner.write_policy(f"{folder}/policy.json")
    ...     policy = load_policy(f"{folder}/policy.json")
    >>> policy.act(0) == learner.act(0)
    True
    """
    path = Path(path)
    if path.suffix == ".json":
        return LearnedPolicy.from_file(path)
    if format_of(path) == NETWORK_FORMAT:
        raise ValueError(
            f"{path} holds an agent that observes, which has no table of states; ask Learner.load(...).act(observation) "
            "for its action, or follow it with `sojourn evaluate`"
        )
    contents: Any = read_archive(path, FORMAT, VERSION)
    try:
        check_kind(Saved, contents, "the learner")
        agent = ready_agent(contents["agent"])
        held = HeldAgent.restored(agent, contents["stream"], contents["totals"], contents["now"])
        hidden = HiddenActions.restored(held.q, "the action mask", contents["hidden"])
        states = Tabulation(contents["states"])
        if states.num_states != len(held.q):
            raise ValueError(f"it has values for {len(held.q)} states, but numbers {states.num_states}")  # noqa: TRY301
        return policy_of(states, contents["first_action"], held, hidden)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from None
