"""Packages of the wheel: the engine, and the papers of `verification/` as fltheory/papers/verification.

The folder keeps its name there, because its modules import each other as `verification.fednova...`; it lies inside
fltheory, so that an installation adds no other name to what can be imported.
"""
from setuptools import find_packages, setup

PAPERS = "fltheory.papers.verification"

setup(
    packages=[*find_packages(include=["fltheory*"]), PAPERS],  # what lies below the folder is its package data
    package_dir={PAPERS: "verification"},
)
