"""Copies of a whole data folder, made while it is in use: taken, verified, listed, restored elsewhere."""
