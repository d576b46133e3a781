"""Play a recording for one connection: frames ahead of its cursor, as far as it reads them."""
