"""Who looks at the screens: signing in and out, sessions, and which pages may talk to them."""
