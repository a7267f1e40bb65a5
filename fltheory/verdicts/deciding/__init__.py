"""How a claim's word is found: its instances, its proof, its certificate and its search, one leg a file."""
