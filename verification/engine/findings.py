"""What the statements that are false on purpose lack."""
from fltheory.verdicts.claims.claim import finding

finding("optimum-needs-equal-steps", kind="missing-hypothesis", breaks="false-optimum", at=("unequal steps",),
        step="all clients make the same number of local steps",
        reading="The two clients make one and ten steps; the fixed point lies at 1 - w for the weight w of the first.",
        survives="equal-steps-optimum")

finding("ties-are-no-strict-order", kind="missing-hypothesis", breaks="false-tie", at=("1/3 and 1/3", "a sum"),
        step="the two numbers differ",
        reading="1/3 < 1/3 is false, and so is 1/3 + 1/6 < 1/2.", survives="weak-tie")
