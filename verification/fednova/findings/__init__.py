"""What was found about FedNova's printed statements, decided by the procedure of each kind."""
