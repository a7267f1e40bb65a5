"""fltheory: decides whether the theorems of federated optimisation are true."""
