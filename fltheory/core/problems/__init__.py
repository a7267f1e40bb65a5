"""Problems: what the clients want. Data may be exact; constants are computed, never declared."""
