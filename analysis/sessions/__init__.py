"""How users work: sessions and batches, and the ways to delimit them."""
