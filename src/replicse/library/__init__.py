"""What a notebook or another program calls: training, evaluation and verdicts as functions, without a study."""
