"""Laws: who takes part, with how many local steps, and with which gradient noise."""
