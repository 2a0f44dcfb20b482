# SPDX-License-Identifier: MIT
"""`python -m libcarry.audit` is `carry audit`."""

import sys

from .command import main

sys.exit(main())
