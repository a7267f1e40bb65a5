"""Lines of records for tests: what a test leaves out is empty, since a record that lacks a field is refused."""
from fltheory.verdicts import records


def filled(raw, record=None):
    """The line with every field of its record, and those of the records in it."""
    record = record or records.TYPES[raw["type"]]
    line = {**{k: v for k, v in record().to_json().items() if k not in record.may_lack}, **raw}
    for name, (*_, inner) in record.kinds().items():
        if inner and (value := line.get(name)):
            line[name] = [filled(v, inner) for v in value] if isinstance(value, list) else filled(value, inner)
    return line
