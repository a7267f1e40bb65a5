"""Other people's training codes as rounds for `ft.identify`: research code in two functions, Flower, pfl, FedLab and NVFlare.

Each adapter returns `round_fn, reset`, to be used as `ft.identify(round_fn, n, d, algorithm, reset=reset)`. It makes everything
anew after `reset()`, passes the participants on, numbers the rounds, gives every client one batch with all its rows, puts half the
squared error in the place of a classification loss, keeps float targets floats, computes in `dtype`, and silences what the code
prints. `round_fn.replaced` counts what was really put in the place of the code's own calls. No framework is imported with this
package.
"""
from fltheory.blackbox.adapters.fedlab_trainers import fedlab
from fltheory.blackbox.adapters.flower_strategies import flower
from fltheory.blackbox.adapters.nvflare_controllers import nvflare
from fltheory.blackbox.adapters.pfl_algorithms import pfl
from fltheory.blackbox.adapters.protocol import Participant, linear, protocol, vector
from fltheory.blackbox.adapters.two_functions import functions

__all__ = ["Participant", "fedlab", "flower", "functions", "linear", "nvflare", "pfl", "protocol", "vector"]
