"""How a policy is made: proximal policy optimisation in self-play, from TOML to a measured checkpoint."""

import os

# Before torch is imported: threads that spin while they wait cost a shared machine five to ten times the time.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
