"""The first answer to an upload: a few sentences, each with where it can be checked."""
