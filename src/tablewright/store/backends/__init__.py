"""Backends: what a store sends its requests to. Each implements ``flow.driver.Backend``."""
