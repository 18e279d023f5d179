"""Fields that writes name: paths into them, updates of them, their bounds, and what callers expect of them."""
