from webapp.version import VERSION

__all__ = ["VERSION"]
