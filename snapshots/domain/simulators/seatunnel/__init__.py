"""A simulated SeaTunnel job: pipelines, enumerators, readers, writers and committers."""
