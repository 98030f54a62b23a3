"""Networks for teaching: layers and networks in NumPy, with their gradients written out."""
