"""What was found about FOCUS's printed statements, decided by the procedure of each kind."""
