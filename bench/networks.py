"""Deep Q, PPO and SAC against stable-baselines3 on the same work, measured in one run.

    python bench/networks.py [FOLDER]

Both learn in the same environment through Gymnasium, with the same network and batches: 64 and 64 ReLU units; deep Q
with a batch of 64 after every step; PPO with 8 environments, rollouts of 2,048 steps, 8 epochs in batches of 128; SAC with
a batch of 64 after every step, and also with networks of 256 and 256 units and a batch of 256, where nearly all time is
spent in products of matrices. stable-baselines3 runs in an environment of its own in FOLDER, which is made if it is not
there; without it, only Sojourn is measured. PyTorch needs no graphics card. Both use one thread, and what is counted is processor time, so that a busy machine disturbs neither.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

# How many times as many steps in the same time.
BOUNDS = {"deep Q": 15.0, "PPO": 7.0, "SAC, 64": 8.0, "SAC, 256": 1.5}
WARM_UP, DEEP_Q_STEPS, PPO_STEPS = 1000, 3000, 20_480
SAC_SIZES = {64: 1500, 256: 200}  # units in a layer, also the batch, and steps
PACKAGES = (
    ["torch==2.13.0"],
    ["stable-baselines3"],
)  # in this order, so that the second replaces no part of the first


class Offers(gym.Env[Any, Any]):
    """Jobs with pay and time, to be taken or passed."""

    def __init__(self) -> None:
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (2,))
        self.action_space: Any = gym.spaces.Discrete(2)
        self.offer = np.zeros(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Begin with an offer."""
        super().reset(seed=seed)
        self.offer = self.np_random.normal(size=2)
        return self.offer.astype(np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take or pass the offer, and search for the next."""
        reward, duration = 0.0, float(self.np_random.exponential(0.5))
        if action == 1:
            reward = float(np.exp((self.offer[0] + self.offer[1]) / 2))
            duration += float(np.exp(self.offer[0]))
        self.offer = self.np_random.normal(size=2)
        return self.offer.astype(np.float32), reward, False, False, {"duration": duration}


class Pushes(Offers):
    """The same, with an offer's share of time to be chosen from 0 to 1."""

    def __init__(self) -> None:
        super().__init__()
        self.action_space = gym.spaces.Box(0.0, 1.0, (1,))

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Work on the offer for a while, and search for the next."""
        share, time_needed = float(action[0]), float(np.exp(self.offer[0]))
        reward = float(np.exp((self.offer[0] + self.offer[1]) / 2)) * share
        duration = float(self.np_random.exponential(0.5)) + share * share * time_needed
        self.offer = self.np_random.normal(size=2)
        return self.offer.astype(np.float32), reward, False, False, {"duration": duration}


def timed(train: Callable[[int], object], first: int, steps: int) -> float:
    """Return the steps per second of processor time, after a first training that warms everything up."""
    train(first)
    begin = time.process_time()
    train(steps)
    return steps / (time.process_time() - begin)


def ours() -> dict[str, float]:
    """Measure Sojourn."""
    import sojourn as sj

    deep_q = sj.Learner(Offers(), sj.deep_q, hidden=(64, 64), batch=64, warm_up=WARM_UP)
    ppo = sj.Learner(
        gym.vector.SyncVectorEnv([Offers] * 8), sj.ppo, hidden=(64, 64), rollout=2048, batch=128, epochs=8
    )
    found = {
        "deep Q": timed(deep_q.train, 2 * WARM_UP, DEEP_Q_STEPS),
        "PPO": timed(ppo.train, 2 * 2048, PPO_STEPS),
    }
    for size, steps in SAC_SIZES.items():
        sac = sj.Learner(Pushes(), sj.agents.sac, hidden=(size, size), batch=size, warm_up=WARM_UP)
        found[f"SAC, {size}"] = timed(sac.train, WARM_UP + 100, steps)
    return found


def theirs() -> dict[str, float]:
    """Measure stable-baselines3, in its own environment."""
    import stable_baselines3
    import torch
    from stable_baselines3.common.env_util import make_vec_env

    torch.set_num_threads(1)
    kind = {"net_arch": [64, 64], "activation_fn": torch.nn.ReLU}
    deep_q = stable_baselines3.DQN(
        "MlpPolicy",
        Offers(),
        policy_kwargs=kind,
        batch_size=64,
        train_freq=1,
        gradient_steps=1,
        learning_starts=WARM_UP,
        buffer_size=50_000,
        tau=0.005,
        target_update_interval=1,
        device="cpu",
    )
    ppo = stable_baselines3.PPO(
        "MlpPolicy",
        make_vec_env(Offers, n_envs=8),
        policy_kwargs=kind,
        n_steps=256,
        batch_size=128,
        n_epochs=8,
        device="cpu",
    )
    found = {
        "deep Q": timed(
            lambda steps: deep_q.learn(steps, reset_num_timesteps=False), 2 * WARM_UP, DEEP_Q_STEPS
        ),
        "PPO": timed(lambda steps: ppo.learn(steps, reset_num_timesteps=False), 2048, PPO_STEPS),
    }
    for size, steps in SAC_SIZES.items():
        sac = stable_baselines3.SAC(
            "MlpPolicy",
            Pushes(),
            policy_kwargs={"net_arch": [size, size]},
            batch_size=size,
            learning_starts=WARM_UP,
            buffer_size=50_000,
            device="cpu",
        )
        learn = functools.partial(sac.learn, reset_num_timesteps=False)
        found[f"SAC, {size}"] = timed(learn, WARM_UP + 100, steps)
    return found


def measured(python: Path | str, who: str) -> dict[str, float]:
    """Return what this file measures in another process, of one thread."""
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(
        [str(python), __file__, who], env=os.environ | one_thread, check=True, capture_output=True, text=True
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def environment(folder: Path) -> Path | None:
    """Return the Python of an environment with stable-baselines3, made if it is not there, or None if that fails."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        for packages in PACKAGES:
            command = [str(python), "-m", "pip", "install", "--quiet", *packages]
            if subprocess.run(command, check=False).returncode:
                return None
    return python


def main() -> None:
    """Print a table, and fail if a ratio is below its bound; without stable-baselines3 there are no ratios."""
    with tempfile.TemporaryDirectory() as made:
        other = environment(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(made, "baselines"))
        mine, others = measured(sys.executable, "ours"), measured(other, "theirs") if other else {}
    if not others:
        print("stable-baselines3 cannot be installed here, so only Sojourn's steps per second are measured:")
        print("\n".join(f"{name:10}{speed:12,.0f}" for name, speed in mine.items()))
        return
    print(f"{'agent':10}{'sojourn':>12}{'baselines':>12}{'ratio':>8}  steps per second")
    slow = []
    for name, bound in BOUNDS.items():
        ratio = mine[name] / others[name]
        print(f"{name:10}{mine[name]:12,.0f}{others[name]:12,.0f}{ratio:8.1f}  at least {bound:g}")
        if ratio < bound:
            slow.append(f"{name} takes {ratio:.1f} times as many steps per second, fewer than {bound:g}")
    if slow:
        raise SystemExit("\n".join(slow))


if __name__ == "__main__":
    if sys.argv[1:] in (["ours"], ["theirs"]):
        print(json.dumps(ours() if sys.argv[1] == "ours" else theirs()))
    else:
        main()
