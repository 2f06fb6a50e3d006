"""How users react to the service they get."""
