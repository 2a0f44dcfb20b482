#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a software bill of materials, which lists the contents of a release, as JSON of SPDX 2.3.

usage: make_sbom.py FOLDER      FOLDER has the artefacts, and gets libcarry-VERSION.spdx.json

Its time is SOURCE_DATE_EPOCH, or else the time of the commit.
"""

import hashlib
import json
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import artefacts
from artefacts import COMPONENTS, ROOT, Artefact, Component, ReleaseError, gcc, output_of

AUTHORS = "Organization: The libcarry authors"
Package = dict[str, object]
NONE = "NOASSERTION"
LIBLZMA = "liblzma has been put into the public domain by its authors."
# The parts of the project, and the components that each needs.
PARTS = {
    "libcarry": ("glibc",),
    "libcarry-capture": ("glibc", *artefacts.UNPACKERS),
    "libcarry-jit": ("asmjit", "glibc", "libstdc++"),
    "carry": ("glibc", "libpcap", *artefacts.ALL_OF_TOOL),
    "python3-libcarry": ("CPython", "glibc", *artefacts.TOOL),
}


def identifier(kind: str, name: str) -> str:
    return f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def relation(one: str, kind: str, other: str) -> dict[str, str]:
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def package_entry(id: str, name: str, version: str, licence: str, **more: object) -> Package:
    return {
        "SPDXID": id,
        "name": name,
        "versionInfo": version,
        "licenseConcluded": licence,
        "licenseDeclared": licence,
        "copyrightText": NONE,
        "downloadLocation": NONE,
        "filesAnalyzed": False,
    } | more


def own_package(id: str, name: str, version: str, **more: object) -> Package:
    (line,) = re.findall(r"^Copyright .*$", (ROOT / "LICENSE").read_text(), re.MULTILINE)
    return package_entry(id, name, version, "MIT", copyrightText=line, supplier=AUTHORS, **more)


def debian() -> str:
    """Returns this release of Debian, in the form of package URLs."""
    facts = dict(
        line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if line
    )
    return f"{facts['ID']}-{facts.get('VERSION_ID', 'sid')}".replace('"', "")


def of_debian(component: Component) -> Package:
    form = "${Version}\t${Architecture}\t${Homepage}"
    name = component.package.format(gcc=gcc())
    fields = output_of("dpkg-query", "--show", f"--showformat={form}", name).split("\t")
    number, architecture, homepage = fields
    address = f"pkg:deb/debian/{quote(name)}@{quote(number, safe='')}"
    address += f"?arch={architecture}&distro={debian()}"
    reference = {
        "referenceCategory": "PACKAGE-MANAGER",
        "referenceType": "purl",
        "referenceLocator": address,
    }
    return package_entry(
        identifier("Component", component.name),
        component.name,
        number,
        component.licence,
        homepage=homepage,
        supplier="Organization: Debian",
        primaryPackagePurpose="LIBRARY",
        externalRefs=[reference],
    )


def of_file(artefact: Artefact, path: Path, folder: Path, version: str) -> Package:
    checksum = hashlib.sha256(path.read_bytes()).hexdigest()
    return own_package(
        identifier("Artefact", path.name),
        path.name,
        version,
        summary=artefact.what,
        packageFileName=str(path.relative_to(folder)),
        checksums=[{"algorithm": "SHA256", "checksumValue": checksum}],
    )


def relations(files: Sequence[tuple[Artefact, Path]], project: str) -> list[dict[str, str]]:
    found = [relation("SPDXRef-DOCUMENT", "DESCRIBES", project)]
    for part, needed in PARTS.items():
        own = identifier("Part", part)
        found.append(relation(project, "CONTAINS", own))
        found += [relation(own, "DEPENDS_ON", identifier("Component", name)) for name in needed]
    for artefact, path in files:
        own = identifier("Artefact", path.name)
        found.append(relation(own, "GENERATED_FROM", project))
        for kind, names in (("STATIC_LINK", artefact.holds), ("DEPENDS_ON", artefact.needs)):
            found += [relation(own, kind, identifier("Component", name)) for name in names]
    return found


def document(folder: Path) -> dict[str, object]:
    version, files = artefacts.version(), list(artefacts.found_artefacts(folder))
    commit = output_of(ROOT / "scripts/commit")
    project = identifier("Project", "libcarry")
    created = datetime.fromtimestamp(artefacts.release_time(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    source = {"sourceInfo": f"commit {commit}"}
    packages = [own_package(project, "libcarry", version, **source)]
    packages += [own_package(identifier("Part", part), part, version) for part in PARTS]
    packages += [of_file(artefact, path, folder, version) for artefact, path in files]
    packages += map(of_debian, COMPONENTS)
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"libcarry-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/libcarry-{version}-{commit}",
        "creationInfo": {
            "created": created,
            "creators": [f"Tool: libcarry-make_sbom-{version}", AUTHORS],
        },
        "packages": packages,
        "relationships": relations(files, project),
        "hasExtractedLicensingInfos": [
            {"licenseId": artefacts.PUBLIC_DOMAIN, "extractedText": LIBLZMA}
        ],
    }


def write_document(folder: Path) -> Path:
    """Writes the document; returns its path."""
    made = document(folder)
    path = folder / f"{made['name']}.spdx.json"
    path.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n")
    return path


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: make_sbom.py FOLDER", file=sys.stderr)
        return 2
    try:
        write_document(Path(sys.argv[1]))
    except (OSError, ReleaseError) as error:
        print(f"make_sbom.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
