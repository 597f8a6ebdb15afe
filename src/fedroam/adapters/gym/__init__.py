"""
The world as a Gymnasium environment (``pip install 'fedroam[gym]'``).

Importing this registers ``fedroam/Rounds-v0``::

    import gymnasium
    import fedroam.adapters.gym

    env = gymnasium.make("fedroam/Rounds-v0", rounds=50)
    envs = gymnasium.make_vec("fedroam/Rounds-v0", num_envs=16, rounds=50)
"""

try:
    import gymnasium
except ModuleNotFoundError as error:
    from fedroam.errors import ConfigError

    raise ConfigError("gymnasium is not installed: pip install 'fedroam[gym]'") from error

from fedroam.adapters.gym.env import RoundsEnv
from fedroam.adapters.gym.rewards import Played, Progress, Reward
from fedroam.adapters.gym.vector import RoundsVectorEnv

__all__ = ["Played", "Progress", "Reward", "RoundsEnv", "RoundsVectorEnv"]

ROUNDS = "fedroam/Rounds-v0"

if ROUNDS not in gymnasium.registry:  # importing it anew must not warn
    gymnasium.register(
        ROUNDS,
        entry_point="fedroam.adapters.gym:RoundsEnv",
        vector_entry_point="fedroam.adapters.gym:RoundsVectorEnv",
    )
