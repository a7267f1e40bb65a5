"""Wrong implementations do what their names say: one round on two clients, worked out by hand."""
from fractions import Fraction as Q

import fltheory as ft
from fltheory.mutants import averages, laws, local
from verification.engine.faults import these

TWO = ft.Quadratic([[[1]], [[1]]], [[0], [1]], ["1/4", "3/4"])    # gradients x and x - 1
PLAIN = ft.FedAvg("1/2", 1)                                      # x -> x/2 and x -> x/2 + 1/2


def case(mutant, shrinks, moves, law=None, algorithm=PLAIN):
    """One mutant and its mean round x -> shrinks x + moves."""
    return ft.Instance(mutant.__name__, mutant=mutant, given=algorithm, participation=law or ft.Full(),
                       shrinks=Q(shrinks), moves=Q(moves))


ROUNDS = [
    case(averages.uniform_weights, "1/2", "1/4"),                            # the mean of both
    case(averages.divides_by_all, "3/4", "1/8", ft.Uniform(1)),              # half of one client's change
    case(averages.server_step_two, 0, "3/4"),                                # twice the change reaches the mean
    case(averages.first_client_twice, "3/8", "3/8"),                         # -x/8 of client 0 once more
    case(averages.fednova_scaled_up, 0, "1/2", ft.Uniform(1), ft.FedNova("1/2", 1)),
    case(local.one_step_more, "1/4", "9/16"),                                # two halvings
    case(laws.one_client_more, "1/2", "3/8", ft.Uniform(1)),                 # both, weights 1/4 and 3/4
]


@ft.claim("mutants-by-hand", on=ROUNDS, domain="the listed mutants",
          rejects=these("two-steps-more", "server-step-three", "one-client-more-is-none"))
def mutants_by_hand(i):
    """One round of each wrong implementation is the affine map worked out by hand."""
    law = getattr(i.mutant, "of", "") == "law"
    wrong = i.given if law else i.mutant(i.given), i.mutant(i.participation) if law else i.participation
    M, c = ft.derive(wrong[0], TWO, wrong[1], domain=ft.RATIONAL).mean_map()
    return ft.equal([M[0, 0], c[0]], [i.shrinks, i.moves])
