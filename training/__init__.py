"""How a policy is made: proximal policy optimisation in self-play, from TOML to a measured checkpoint."""
