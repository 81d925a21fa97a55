"""Validates texts of YAML, as kubectl reads them, strictly against the published schemas of Kubernetes.

Standard input: {"versions": ["1.37"], "texts": ["..."]}. Standard output: for each text a list of what is wrong.
Objects of KEDA have no schema here.
"""

import json
import sys

import kubernetes_validate
import yaml


def problems(text, versions):
    found = []
    for manifest in yaml.safe_load_all(text):
        if manifest["apiVersion"].startswith("keda.sh/"):
            continue
        for version in versions:
            try:
                used = kubernetes_validate.validate(manifest, version, strict=True)
                if not used.startswith(version):
                    found.append(f"no schemas of {version}, only of {used}")
            except Exception as error:
                found.append(f"{manifest['kind']} of {version}: {error}"[:300])
    return found


question = json.load(sys.stdin)
json.dump([problems(text, question["versions"]) for text in question["texts"]], sys.stdout)
