"""Adapters: a thin module for each framework; importing it imports the framework, nothing else here does.

`sb3`, `torchrl`, `tianshou`, `openspiel`, `pufferlib`, `agilerl`, `rllib`; `export` writes the ONNX file that
`belote_env.players.Policy` plays.  docs/plugging-in.md says how each is used.
"""
