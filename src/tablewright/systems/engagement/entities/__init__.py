"""What is stored, by what it is about; ``model`` has the design that all of it makes, and exports it."""
