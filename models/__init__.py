"""Networks that play Belote, the files they are kept in, and the player that seats them at a table."""
