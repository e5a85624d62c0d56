"""`python -m belote_env`: the command line."""

import sys

from belote_env.cli import main

if __name__ == "__main__":
    sys.exit(main())
