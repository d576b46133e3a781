"""The evidence and the claims of a document that a reader checks without Cutline."""
