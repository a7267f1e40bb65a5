"""Loads the package's pytest plugin in a bare checkout; an installed package has registered it already."""
import sys

pytest_plugins = [] if "fltheory.pytest_plugin" in sys.modules else ["fltheory.pytest_plugin"]
