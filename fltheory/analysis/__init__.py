"""Questions asked of an operator or of a round, a file each.

    stability     which step sizes are stable
    step_maps     how far a method has come, on a grid of step sizes by rounds
    surrogates    the weights of the objective that a method really minimises
    linearise     local rates of smooth problems that are not quadratic
    adversarial   how far a round can move if its gradients are any vectors of bounded norm
    functional    the round as a function of the Hessian
    traffic       how many numbers must pass between server and client
    spectra       statements for every symmetric matrix with eigenvalues between two numbers
    algebra       symbolic expansions, power series, semidefinite forms
"""
