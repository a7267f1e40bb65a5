"""Closed forms of FOCUS / SG-FOCUS (NeurIPS 2025, arXiv 2503.20117v3), by equation number.

Index 0 is the server, 1..N are the clients; participation sets hold client numbers 1..N as printed.
"""
