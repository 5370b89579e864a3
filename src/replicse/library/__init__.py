"""Train, evaluate and judge from Python, without a study."""
