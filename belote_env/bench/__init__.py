"""Measuring: decisions per CPU-second of every door, cold start, memory a table; `belote bench` prints it."""
