"""The 56 English data sets of MTEB (Muennighoff et al. 2023) by category.

The `mteb` library calls them "MTEB(eng, v1)" and holds the commit of each; its version is pinned in turn.
"""

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
