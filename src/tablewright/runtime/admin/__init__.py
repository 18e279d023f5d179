"""Admin routes other than health and consumers: people, search, personal data; under ``/runtime``."""
