"""The tasks of MTEB by category: the 56 English ones of Muennighoff et al. (2023), and all of the library on texts.

The `mteb` library calls the 56 "MTEB(eng, v1)" and holds the commit of each task; its version is pinned in turn. To
import it takes seconds, and torch; so the names of all its tasks lie in tasks.txt, which a test compares with it.
"""

from functools import cache
from pathlib import Path

# How the reason of an average begins that lacks a task: no failure of its own.
LACKS_PART = "a part is missing"
MTEB_TASKS: dict[str, tuple[str, ...]] = {
    "Classification": (
        "AmazonCounterfactualClassification",
        "AmazonPolarityClassification",
        "AmazonReviewsClassification",
        "Banking77Classification",
        "EmotionClassification",
        "ImdbClassification",
        "MassiveIntentClassification",
        "MassiveScenarioClassification",
        "MTOPDomainClassification",
        "MTOPIntentClassification",
        "ToxicConversationsClassification",
        "TweetSentimentExtractionClassification",
    ),
    "Clustering": (
        "ArxivClusteringP2P",
        "ArxivClusteringS2S",
        "BiorxivClusteringP2P",
        "BiorxivClusteringS2S",
        "MedrxivClusteringP2P",
        "MedrxivClusteringS2S",
        "RedditClustering",
        "RedditClusteringP2P",
        "StackExchangeClustering",
        "StackExchangeClusteringP2P",
        "TwentyNewsgroupsClustering",
    ),
    "PairClassification": ("SprintDuplicateQuestions", "TwitterSemEval2015", "TwitterURLCorpus"),
    "Reranking": ("AskUbuntuDupQuestions", "MindSmallReranking", "SciDocsRR", "StackOverflowDupQuestions"),
    "Retrieval": (
        "ArguAna",
        "ClimateFEVER",
        "CQADupstackRetrieval",
        "DBPedia",
        "FEVER",
        "FiQA2018",
        "HotpotQA",
        "MSMARCO",
        "NFCorpus",
        "NQ",
        "QuoraRetrieval",
        "SCIDOCS",
        "SciFact",
        "Touche2020",
        "TRECCOVID",
    ),
    "STS": (
        "BIOSSES",
        "SICK-R",
        "STS12",
        "STS13",
        "STS14",
        "STS15",
        "STS16",
        "STS17",
        "STS22",
        "STSBenchmark",
    ),
    "Summarization": ("SummEval",),
}
MTEB_NAMES = tuple(name for names in MTEB_TASKS.values() for name in names)
# What the evaluation says of a task whose data are not there, and the report reads: no failure of a run.
NOT_LOCAL = "not among the data sets of a local data root"


@cache
def categories() -> dict[str, str]:
    """Return the category of each task of the library on texts alone, by name."""
    lines = (Path(__file__).parent / "tasks.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split() for line in lines)
