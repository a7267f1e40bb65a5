"""`python -m fltheory`."""
from fltheory.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
