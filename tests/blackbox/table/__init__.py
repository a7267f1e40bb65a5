"""A table of rounds in plain torch, correct and faulty, with the words each fault must be named by: how good is `identify`?"""
