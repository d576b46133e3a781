"""Choosing among the effects of a step."""


def of_type(effects, kind):
    return [effect for effect in effects if isinstance(effect, kind)]
