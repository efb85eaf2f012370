"""Average-reward reinforcement learning in semi-Markov decision processes.

The public names are listed in `__init__.pyi`, next to this file, by the module that defines
them. A module is imported when one of its names is first used, so `import sojourn` and the
command line start at once.
"""

import sys

from sojourn.data.moved import MovedModules
from sojourn.data.names import public_names

__version__ = "0.3.0.dev0"
__getattr__, __dir__, __all__ = public_names(__name__, __file__)

sys.meta_path.append(MovedModules())
