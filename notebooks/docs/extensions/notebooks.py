"""The notebooks with their committed outputs. Sphinx reads only below its own folder, so they are copied into it."""
import shutil
from pathlib import Path


def copy(app, config):
    """Make the folder `notebooks` hold exactly those of the repository."""
    target, found = Path(app.srcdir) / "notebooks", sorted(Path(app.srcdir).parent.glob("*.ipynb"))
    target.mkdir(exist_ok=True)
    for stray in {p.name for p in target.iterdir()} - {p.name for p in found}:
        (target / stray).unlink()
    for path in found:
        copied = target / path.name
        if not copied.is_file() or copied.read_bytes() != path.read_bytes():
            shutil.copyfile(path, copied)


def setup(app):
    app.connect("config-inited", copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
