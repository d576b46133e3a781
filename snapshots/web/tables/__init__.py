"""The tables of the pages as files: each is declared once, and sent whole as CSV, JSON, Parquet."""
