"""Environments: AEC, and many tables at once for learners."""

from belote_env.envs import belote_v0
from belote_env.envs.vector import SelfPlayVector

__all__ = ["SelfPlayVector", "belote_v0"]
