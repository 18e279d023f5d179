"""Who is calling: bearer tokens, and an issuer of them for development."""
