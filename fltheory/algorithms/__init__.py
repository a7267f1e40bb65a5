"""Every method beside FedAvg, a file each, with the graphs and problems that they need; a new method goes here."""
