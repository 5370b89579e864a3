"""Validate a crate against the profile of workflow runs, with no network: run by the validator's own Python.

The one JSON-LD context that a crate names is fetched from the web; here the terms that our crates use stand in its
place. What is left unasked is whether the context's address answers.
"""

import sys

import rdflib.plugins.shared.jsonld.context as contexts
from rocrate_validator import models, services

TERMS = {
    "@context": {
        "@vocab": "http://schema.org/",
        "File": "http://schema.org/MediaObject",
        "ComputationalWorkflow": "https://bioschemas.org/ComputationalWorkflow",
        "conformsTo": "http://purl.org/dc/terms/conformsTo",
        "sha256": "https://w3id.org/ro/terms/workflow-run#sha256",
    }
}
# Whether the address of the context answers, and whether its terms are those of the document.
FETCHED = ("ro-crate-1.1_3.1", "ro-crate-1.1_3.2")

contexts.Context._fetch_context = lambda self, source, base, referenced: TERMS
settings = services.ValidationSettings(
    rocrate_uri=sys.argv[1],
    profile_identifier="workflow-run-crate-0.5",
    requirement_severity=models.Severity.REQUIRED,
)
issues = [
    issue for issue in services.validate(settings).get_issues() if issue.check.identifier not in FETCHED
]
print("\n".join(f"{issue.check.identifier}: {issue.message}" for issue in issues))
sys.exit(bool(issues))
