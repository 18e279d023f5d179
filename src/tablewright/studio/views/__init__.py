"""The views of the studio, a module each."""
