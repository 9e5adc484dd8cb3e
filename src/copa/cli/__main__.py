"""`python -m copa.cli`, the same as `copa`."""

import sys

from copa.cli import main

sys.exit(main())
