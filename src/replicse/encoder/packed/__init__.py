"""The engine for BERT, RoBERTa and DistilBERT: packed tokens, no padding in linear layers."""
