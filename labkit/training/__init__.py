"""Training of small drafters for a target: prompts → the target's own text → features → head → model folder.

*Conventions*: token ids are int64; a *text* is one prompt with the answer the target gave; hidden states are
float, ``(…, hidden)``; *depth* d = 0, 1, … counts draft tokens within a step, so depth 0 is the first.
"""

from labkit.training.plan import Training
from labkit.training.progress import each_tenth_step
from labkit.training.run import Trained, serving_plan, train

__all__ = ["Trained", "Training", "each_tenth_step", "serving_plan", "train"]
