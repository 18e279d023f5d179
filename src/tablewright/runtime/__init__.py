"""What a service needs around a store: identity, HTTP, events, mail, consumers, settings, measures.

settings       Settings, from the environment and a file; Secrets of a data folder
system         System and Runtime: what a system is, and what it stands on
application    the ASGI application of any systems
identity       bearer tokens and callers; local_issuer for development
dependencies   what routes ask for
errors         what services refuse; problems: what that is over HTTP
http, limits   what every request passes through
events         from streams to subscribers; event_bridge
mail           once for each event and recipient
workers        consumers at work
operations     health, metrics, dead letters; pages for people
"""
