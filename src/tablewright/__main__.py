"""The command line as ``python -m tablewright``."""

import sys

from tablewright.cli import main

if __name__ == "__main__":
    sys.exit(main())
