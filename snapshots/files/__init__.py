"""Keeps and guards files: pairing with the database, privacy, sweeping, backups."""
