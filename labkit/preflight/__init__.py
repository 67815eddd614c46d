"""Before any accelerator time is spent: what can be known from files, rules and versions alone.

    launch.py            what is about to be started
    models.py            what a model's folder says, weights aside
    vocabulary.py        ids and tokens of a folder's tokenizer, and vocabulary_files.py the formats
    tokenizer.py         target and draft compared id by id; pruned.py the draft vocabularies of heads
    conditions_*.py      what of a launch a rule looks at, measured
    rules.py             what vLLM does about it (data/rules.yaml): findings and a verdict
    check.py             all of it for one launch
    own_words.py         what an installed vLLM itself says
    presets.py           known pairs with their commands and verdicts (data/presets/)

No vLLM, no network and no weights are needed.
"""
