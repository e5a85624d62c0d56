"""The reader example: it learns from a record and beats Random."""

import importlib.util
import re
import sys
from pathlib import Path

from belote_env.record import record

EXAMPLE = Path(__file__).parent.parent / "examples" / "imitate.py"


def test_it_learns_what_was_recorded(tmp_path, monkeypatch, capsys):
    spec = importlib.util.spec_from_file_location("imitate", EXAMPLE)
    imitate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(imitate)
    record("medium", tmp_path, "single_deal", deals=1200, seed=1)
    monkeypatch.setattr(imitate, "STEPS", 200)
    monkeypatch.setattr(imitate, "PAIRS", 150)
    monkeypatch.setattr(sys, "argv", ["imitate.py", str(tmp_path)])
    imitate.main()
    out = capsys.readouterr().out
    assert "of medium at single_deal" in out
    mean, interval = map(float, re.search(r"imitator over random: (\S+) ± (\S+) points", out).groups())
    assert mean - interval > 0, out
