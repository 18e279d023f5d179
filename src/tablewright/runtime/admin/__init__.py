"""What those who run the systems do beside health and consumers: people, search, personal data; under ``/runtime``."""
