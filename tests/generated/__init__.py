"""Calls that schemathesis generates from the OpenAPI document, each sent by people of every role.

``docs/tests.md`` says how to run them.
"""
