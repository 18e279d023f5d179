"""The users of the screens: signing in and out, sessions, and which origins may use the screens."""
