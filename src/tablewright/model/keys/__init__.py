"""Key templates and the key codec."""
