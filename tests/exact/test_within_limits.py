"""The best policy within limits: the same as an independent linear program, with proven bounds, prices and sentences."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from scipy import sparse
from scipy.optimize import linprog

import sojourn as sj
from counting import Counted
from sojourn.exact import Constraint, NotSolvedError, at_least, at_most

Floats = npt.NDArray[np.float64]


class Program(NamedTuple):
    """What the linear program says: the largest gain, the prices, and whether these are the only ones."""

    gain: float
    prices: Floats
    unique: bool


def program(
    model: sj.SMDP, limits: list[Constraint], maximise: str = "reward", per: str = "duration"
) -> Program | None:
    """Solve over the frequencies of pairs per unit of `per`, written from the definition; None if limits cannot be kept."""
    reward, duration = model.amount(maximise), model.amount(per)
    pair = np.repeat(np.arange(model.num_pairs), np.diff(model.row_offsets))
    enters = sparse.coo_array(
        (model.probability, (model.successor, pair)), shape=(model.num_states, model.num_pairs)
    ).toarray()
    leaves = (model.state_of_pair()[None] == np.arange(model.num_states)[:, None]).astype(float)
    excess = np.array(
        [
            (-1.0 if limit.is_least else 1.0)
            * (model.amount(limit.amount) - limit.bound * model.amount(limit.per))
            for limit in limits
        ]
    )
    found = linprog(
        -reward,
        A_ub=excess,
        b_ub=np.zeros(len(limits)),
        A_eq=np.vstack([leaves - enters, duration[None]]),
        b_eq=np.append(np.zeros(model.num_states), 1.0),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.status == 2:
        return None
    assert found.status == 0, found.message
    prices = -found.ineqlin.marginals
    # If every slack or its price is well above 0 and as many pairs are used as there are equations, prices are unique.
    strict = bool((np.maximum(found.ineqlin.residual, prices) > 1e-7).all())
    used = int((found.x > 1e-9).sum())
    states = len(set(model.state_of_pair()[found.x > 1e-9].tolist()))
    return Program(-found.fun, prices, strict and used == states + int((prices > 1e-9).sum()))


def drawn_model(rng: np.random.Generator) -> sj.SMDP:
    """Return a random model in which every state can be reached, with three amounts."""
    states, width = int(rng.integers(1, 9)), int(rng.integers(1, 4))
    rows: list[tuple[Any, ...]] = []
    for state in range(states):
        for action in range(width):
            size = int(rng.integers(1, min(states, 3) + 1))
            targets = rng.choice(states, size=size, replace=False).tolist()
            if (state + 1) % states not in targets:
                targets[0] = (state + 1) % states  # round and round, so that there is one class
            law = rng.dirichlet(np.ones(len(targets)))
            duration = float(rng.choice([0.5, 1.0, rng.exponential()])) + 1e-3
            amounts = {"lost": rng.poisson(0.7), "arrivals": 1.0 + rng.poisson(1.0), "energy": rng.normal()}
            rows += [
                (state, action, target, p, float(rng.normal()), duration, amounts)
                for target, p in zip(targets, law, strict=True)
            ]
    return sj.models.from_transitions(rows)


def drawn_limits(rng: np.random.Generator, model: sj.SMDP, count: int) -> list[Constraint]:
    """Return limits around what a random policy has, so that most of them can be kept and some bind."""
    policy = np.zeros((model.num_states, model.num_actions))
    policy[model.state_of_pair(), model.action] = rng.exponential(size=model.num_pairs)
    worth = sj.evaluate(model, policy / policy.sum(axis=1, keepdims=True))
    limits = []
    for amount, per in [("lost", "arrivals"), ("energy", "duration"), ("arrivals", "steps")][:count]:
        bound = worth.per(amount, per) + 0.1 * rng.normal()
        limits.append((at_least if rng.random() < 0.4 else at_most)(amount, bound, per))
    rng.shuffle(limits)
    return limits


def compared(seed: int) -> str:
    """Compare one random model with the linear program; return what kind of case it was."""
    rng = np.random.default_rng(seed)
    model = drawn_model(rng)
    limits = drawn_limits(rng, model, int(rng.integers(1, 4)))
    maximise, per = [("reward", "duration"), ("energy", "arrivals")][int(rng.random() < 0.3)]
    expected = program(model, limits, maximise, per)
    if expected is None:
        with pytest.raises(NotSolvedError, match="can be had"):
            sj.solve(model, limits=limits, maximise=maximise, per=per)
        return "infeasible"
    found = sj.solve(model, limits=limits, maximise=maximise, per=per)
    assert found.gain == pytest.approx(expected.gain, abs=1e-8)
    assert found.lower - 1e-12 <= found.gain <= found.upper + 1e-12
    assert found.upper - found.lower < 1e-8
    worth = sj.evaluate(model, found.policy)
    assert worth.per(maximise, per) == pytest.approx(found.gain, abs=1e-9)
    for limit in limits:
        assert limit.sign * (worth.per(limit.amount, limit.per) - limit.bound) < 1e-9
    assert len(found.prices) == len(limits)
    if expected.unique:
        assert found.prices == pytest.approx(expected.prices.tolist(), abs=1e-6, rel=1e-6)
    binding = sum(price > 0.0 for price in found.prices)
    if expected.unique:
        assert int(((found.policy > 1e-9).sum(axis=1) > 1).sum()) <= binding
    return "unique" if expected.unique and binding else "binding" if binding else "free"


@pytest.mark.evidence
def test_many_random_models_agree_with_a_linear_program(counted: Counted) -> None:
    """The same on 2,000 further models."""
    kinds = [compared(seed) for seed in range(10_000, 12_000)]
    assert {"unique", "free", "infeasible"} <= set(kinds)
    counted("models with limits, against a linear program", tried=len(kinds), failed=0)


@pytest.mark.parametrize("block", range(4))
def test_random_models_agree_with_a_linear_program(block: int) -> None:
    """On 100 random models with 1 to 3 limits: the gain to 1e-8, prices where unique, limits kept, few states with a draw."""
    kinds = [compared(seed) for seed in range(25 * block, 25 * block + 25)]
    assert {"unique", "free", "infeasible"} <= set(kinds)


def test_limits_that_depend_on_the_start_are_refused() -> None:
    """Where a policy may stay in one of several parts for ever, what limits allow depends on the start: a sentence says so."""
    with pytest.raises(NotSolvedError, match="so what limits allow depends on the start"):
        sj.solve(sj.problems.gemini(), limits=[at_most("steps", 2.0)])


def test_a_limit_outside_a_list_gets_a_sentence() -> None:
    """A single limit must stand in a list, too; the sentence says so."""
    with pytest.raises(TypeError, match="limits is a limit; put it into a list"):
        sj.solve(sj.problems.gosavi(), limits=at_most("steps", 2.0))  # type: ignore[arg-type]


def test_time_that_would_have_to_be_shared_between_two_places() -> None:
    """If the best mixture stays in either of two states for ever, no policy without memory does as it: a sentence says so."""
    rows = [
        (
            state,
            action,
            state if action == "stay" else 1 - state,
            1.0,
            reward if action == "stay" else -1.0,
            1.0,
            {"used": used},
        )
        for state, reward, used in ((0, 1.0, 0.0), (1, 5.0, 1.0))
        for action in ("stay", "go")
    ]
    model = sj.models.from_transitions(rows)
    with pytest.raises(NotSolvedError, match="a policy without memory would stay in one of them for ever"):
        sj.solve(model, limits=[at_most("used", 0.5)])


def test_a_limit_at_its_very_edge() -> None:
    """A limit that only one policy keeps, exactly, is kept; one that the best policy keeps exactly has no price."""
    model = sj.problems.long_shot()  # 5 in a step of 1, or 12 in one of 4
    tight = sj.solve(model, limits=[at_least("duration", 4.0, per="steps")])
    assert tight.gain == pytest.approx(3.0, abs=1e-12)
    loose = sj.solve(model, limits=[at_least("duration", 1.0, per="steps")])
    assert loose.gain == pytest.approx(5.0, abs=1e-12)
    assert loose.prices == (0.0,)


def test_a_limit_per_what_there_never_is() -> None:
    """A limit counted per an amount that is 0 in the whole model gets a sentence, and so does one that is no limit."""
    line = sj.models.from_dict(
        {"line": {"answer": {"reward": 1, "duration": 1, "next": "line", "amounts": {"calls": 1, "lost": 0}}}}
    )
    with pytest.raises(
        ValueError, match="there is never any lost in the model, so nothing can be counted per lost"
    ):
        sj.solve(line, limits=[sj.exact.at_most("calls", 1, per="lost")])
    with pytest.raises(TypeError, match=r"limits has 3; make each limit with sojourn\.exact\.at_most"):
        sj.solve(line, limits=3)  # type: ignore[arg-type]


def test_a_limit_that_floats_prove_only_roughly(monkeypatch: pytest.MonkeyPatch) -> None:
    """How near rounding lets one prove that a limit is kept is said in `findings`; too little of a proof is refused."""
    line = sj.models.from_dict(
        {
            "line": {
                "answer": {"reward": 1, "duration": 1, "next": "line", "amounts": {"lost": 0}},
                "reject": {"reward": 3, "duration": 1, "next": "line", "amounts": {"lost": 4}},
            }
        }
    )
    limits = [sj.exact.at_most("lost", 1.0)]
    assert sj.solve(line, limits=limits).findings == ()
    monkeypatch.setattr("sojourn.exact.within_limits.bounds", lambda *_: (1.0, 2e-5))
    found = sj.solve(line, limits=limits)
    assert found.findings == ("floats prove lost per unit time at most 1 only to within 2e-05",)
    monkeypatch.setattr("sojourn.exact.within_limits.bounds", lambda *_: (1.0, 2e-3))
    with pytest.raises(sj.exact.NotSolvedError, match="whether the policy has lost per unit time at most 1;"):
        sj.solve(line, limits=limits)
