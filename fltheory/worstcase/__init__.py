"""Worst cases of an algorithm over whole function classes: its own `round` run on Gram coefficients, one semidefinite programme.

classes: conditions that interpolation imposes; quadratic_forms, gram, pairs: the abstract vectors on which a round runs; view:
what measures are written with; relaxation: the setting and its programme; programme: that programme and its solver; certificate
and boundary: bounds proved in rationals; witness: functions that attain the value. To be asked: worst, lyapunov, relation (for
claims) and interval (for all values of a symbol).
"""
