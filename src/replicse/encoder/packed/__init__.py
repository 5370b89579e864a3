"""The engine for BERT, RoBERTa and DistilBERT on packed tokens.

Linear layers skip padding.
"""
