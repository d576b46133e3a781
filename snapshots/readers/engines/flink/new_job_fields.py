"""Read the fields of a description of a new job; what is of a wrong type is refused."""

from snapshots.domain.model.defects import InputRefused, quoted, refuse


def object_at(item: object, where: str) -> dict:
    """Return an entry of a list. Raises: InputRefused where it is no object."""
    if not isinstance(item, dict):
        raise wrong("Each entry of the list must be an object.", where)
    return item


def text_field(fields: dict, key: str, where: str) -> str | None:
    """Return a text, None where it is absent. Raises: InputRefused where it is no text."""
    value = fields.get(key)
    if value is not None and not isinstance(value, str):
        raise wrong(f"{quoted(key)} must be a text.", f"{where}.{key}")
    return value


def number_field(fields: dict, keys: tuple[str, ...], where: str, least: int) -> int | None:
    """Return the number at the first key that is there. Raises: InputRefused."""
    key = next((key for key in keys if fields.get(key) is not None), None)
    if key is None:
        return None
    value = fields[key]
    if type(value) is not int or not least <= value <= 2**15 or value == 0:
        raise wrong(f"{quoted(key)} must be a number from 1 to {2**15:,}.", f"{where}.{key}")
    return value


def wrong(sentence: str, field: str | None) -> InputRefused:
    """Return the refusal of a description, to be raised."""
    return refuse("header-invalid", sentence, field=field)
