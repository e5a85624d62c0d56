"""Environments: AEC and parallel, one learner's seat, and many tables at once for learners."""

from belote_env.envs import belote_v0
from belote_env.envs.gym_vector import BeloteVectorEnv
from belote_env.envs.single import BeloteEnv
from belote_env.envs.vector import SelfPlayVector

__all__ = ["BeloteEnv", "BeloteVectorEnv", "SelfPlayVector", "belote_v0"]
