"""What `replicse diagnose` says, in a terminal, of numbers and stated facts."""

import shlex

from replicse.cli import main

UNSUP = "simcse/table5/unsup-simcse-bert-base/avg"
CALLS = (
    f"74.84 --item {UNSUP} --devices 2",
    f"76.25 --item {UNSUP}",
    f"56.87 --item {UNSUP} --pooler cls --devices 1 --versions other",
    f"56.87 --item {UNSUP}",
    "78.54 --printed 78.87 --batch 128 --corpus x",
    "77.80 --printed 78.54 --metric sts/avg --encoder-is released",
    f"74.84 --item {UNSUP} --seeds 5",
    f"--item {UNSUP} --pooling cls-head",
    "60 --item promptbert/wording/this-colon/avg",
    # What cannot be answered is refused in one sentence.
    f"74.84 --item {UNSUP} --seeds 0",
    f"nan --item {UNSUP}",
    f"0.7484 --item {UNSUP}",
    f"seventy --item {UNSUP}",
    "74.84 --item simcse/table5/unsup-simcse-bert-bas/avg",
    "74.84",
    "74.84 --printed 78.9 --metric sts/avgg",
    "74.84 --printed seventy",
    "74.84 --printed ''",
    "1 2 3",
    "--check poler x",
    "--check pooler",
    f"74.84 --item {UNSUP} --printed 3",
)


def test_what_is_said_of_a_number(golden, capsys):
    told = []
    for words in CALLS:
        code = main(["diagnose", *shlex.split(words)])
        said = capsys.readouterr()
        told.append(f"$ replicse diagnose {words}\n{said.out}{said.err}")
        assert code == 0 or (code, said.err.count("\n"), said.out) == (2, 1, "")
    golden("diagnose.txt", "\n".join(told))
