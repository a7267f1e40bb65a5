"""Operators: what an algorithm as coded does to means and second moments, exactly."""
