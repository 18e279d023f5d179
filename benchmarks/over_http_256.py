"""What ``over_http`` measures, with 256 connections."""

from benchmarks import over_http
from benchmarks.report import Section

PART = "http_256"
CONNECTIONS = 256


def measure(seconds: float, rounds: int) -> Section:
    return over_http.measure_with(CONNECTIONS, PART, seconds, rounds)
