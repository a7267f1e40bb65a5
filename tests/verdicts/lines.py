"""Lines of records for tests: what a test leaves out is empty, since a record that lacks a field is refused."""
from dataclasses import fields

from fltheory.verdicts import records
from fltheory.verdicts.typed import kind_of


def filled(raw, record=None):
    """The line with every field of its record, and those of the records in it."""
    record = record or records.TYPES[raw["type"]]
    line = {**{k: v for k, v in record().to_json().items() if k not in record.may_lack}, **raw}
    for f in fields(record):
        inner = kind_of(f.type)[-1]
        if inner and line.get(f.name):
            value = line[f.name]
            line[f.name] = [filled(v, inner) for v in value] if isinstance(value, list) else filled(value, inner)
    return line
