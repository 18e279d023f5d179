"""Tables as they were at a moment of their recovery window, read without a restore."""
