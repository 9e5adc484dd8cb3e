"""`python -m copa.cli`, the same as `copa`."""

import sys

from copa.cli import main

if __name__ == "__main__":  # processes of a cluster import this file too
    sys.exit(main())
