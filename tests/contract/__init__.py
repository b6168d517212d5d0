"""Suites that every implementation of a Protocol must pass."""

import pytest

pytest.register_assert_rewrite("tests.contract.store_contract")
