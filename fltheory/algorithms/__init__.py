"""Every method beside FedAvg, a file each, with the graphs and problems that they need; a new method goes here.

Normalised averages: fednova (and the general rule), fednova_vr, server_momentum. Control variates and memories: scaffold,
scaffnew (and ProxSkip), vrlsgd, mifa, fedvarp, focus. Weights by participation: fedau, fedawe, reweighted. Local work: fedsgd,
localsgd, localprox. Personal parameters: fedresavg, fedresnaive, fedressgd, on the problems of residual_problem and
personal_problem. Neighbours: neighbour, on the similarity graphs of graphs. catalogue finds them all. FedAvg itself and the
local solvers stand in the core, asynchronous methods in their own room.
"""
