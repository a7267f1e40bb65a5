"""Finding about steps that depend on the gradients of their own round."""
import fltheory as ft

ft.finding("err-own-gradient", kind="missing-hypothesis", breaks="susp-independence",
           at=("a client that stops on its own first gradient",), script="witnesses/err_own_gradient.py",
           step="the normalised gradient d_i is taken to have the mean h_i, which needs a_i independent of the "
                "gradients that it weighs",
           reading="One client, so no heterogeneity, no sampling and no surrogate objective are in play; tau_eff = 1 "
                   "in every round. A client that stops after a gradient of noise +1 gives that gradient the weight 1, "
                   "and one of noise -1 only 1/2: E d = grad F + 1/4 to leading order, which no small step removes.",
           survives="Steps drawn with the same chances before the gradients: the bound holds at both instances of the claim.")
