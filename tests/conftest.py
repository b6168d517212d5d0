"""Fixtures of all tests."""

import hashlib
import os
import secrets

import pytest

SEED_VARIABLE = "BERTH_SEED"


def base_seed() -> int:
    """Return the seed of this run's random worlds: BERTH_SEED, else new with every run and alike in its workers."""
    given = os.environ.get(SEED_VARIABLE)
    if given:
        return int(given)
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    if run is None:
        run = os.environ.setdefault("BERTH_RUN", secrets.token_hex(8))
    return int.from_bytes(hashlib.sha256(run.encode()).digest()[:4])


@pytest.fixture(scope="session")
def seed() -> int:
    """Seed of this run's random worlds."""
    return base_seed()


def pytest_report_header() -> str:
    """Print how to repeat this run's random worlds."""
    return f"random worlds: {SEED_VARIABLE}={base_seed()}"
