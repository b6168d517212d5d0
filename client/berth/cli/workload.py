"""`berth workload`: check group manifests without a cluster. Reads files, prints findings; needs no server."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import click
import yaml

from berth.workload import (
    DecodeError,
    ObjectMeta,
    PriorityClass,
    Rules,
    UnknownFieldsError,
    normalise,
    read_part,
    review,
    rules_of,
    write,
)

_SUFFIXES = (".yaml", ".yml", ".json")
_GROUP = "scheduling.k8s.io/"
_GROUP_KINDS = ("Workload", "PodGroup", "CompositePodGroup")
_RULES = [field.name for field in fields(Rules)]


class Document(NamedTuple):
    """One object of one file."""

    file: str
    place: int
    body: dict[str, Any]

    @property
    def kind(self) -> str:
        """Its kind, empty if it has none."""
        return str(self.body.get("kind") or "")

    @property
    def label(self) -> str:
        """How findings name it: by kind and name, without a name by its place in the file."""
        metadata = self.body.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        return f"{self.kind}/{name or f'#{self.place}'}"


class Finding(NamedTuple):
    """One line of output: what is wrong, in which field of which object of which file."""

    file: str
    label: str
    field: str
    message: str

    def __str__(self) -> str:
        return ": ".join(part for part in self if part)


@click.group()
def workload() -> None:
    """Check manifests of groups: Workload, PodGroup, CompositePodGroup."""


@workload.command()
@click.option(
    "-f",
    "--filename",
    "sources",
    multiple=True,
    required=True,
    metavar="FILE|DIR|-",
    type=click.Path(exists=True, allow_dash=True),
    help="Manifests to check, YAML or JSON; a folder with all below it; - for standard input. Repeatable.",
)
@click.option(
    "--rules",
    type=click.Choice(["documented", "server"]),
    default="documented",
    show_default=True,
    help="What an API server decides, or also what Kubernetes documents.",
)
@click.option("--skip", multiple=True, type=click.Choice(_RULES), help="Leave out one documented rule. Repeatable.")
def lint(sources: tuple[str, ...], rules: str, skip: tuple[str, ...]) -> None:
    """Report what an API server of v1.37 would refuse, one line an error; exit with 1 if there is any.

    PriorityClasses in the files are used. A class that is not there is taken to exist, with a note on standard error.
    """
    errors = 0
    documents = []
    for document in _documents(sources):
        if isinstance(document, Finding):
            errors += 1
            click.echo(str(document))
        else:
            documents.append(document)
    chosen = replace(rules_of(rules), **dict.fromkeys(skip, False))
    classes = list(_classes(documents))
    for document in documents:
        for finding in _check(document, classes, chosen, translate=rules == "documented"):
            errors += 1
            click.echo(str(finding))
    sys.exit(1 if errors else 0)


def _check(document: Document, classes: list[PriorityClass], rules: Rules, *, translate: bool) -> Iterator[Finding]:
    """Everything that is wrong with one object. Kinds that have nothing to do with groups are passed over."""
    body, version = document.body, _version(document)
    if version is None:
        return
    for field, problem in _unknown_fields(document):
        yield Finding(document.file, document.label, field, problem)
    if version == "v1alpha2" and translate:
        click.echo(f"{document.file}: {document.label}: v1alpha2 is gone since v1.37; judged as v1beta1", err=True)
        try:
            body, version = write(normalise(body, unknown="drop"), "v1beta1"), "v1beta1"
        except DecodeError as error:
            yield Finding(document.file, document.label, error.field, error.problem)
            return
    answer = review("create", body, version=version, classes=_assumed(document, classes), rules=rules)
    for warning in answer.warnings:
        if not warning.startswith("unknown field"):  # an error above
            click.echo(f"{document.file}: {document.label}: warning: {warning}", err=True)
    for cause in answer.causes:
        yield Finding(document.file, document.label, cause.field, cause.message)
    if not answer.accepted and not answer.causes:
        yield Finding(document.file, document.label, answer.reason, answer.message)


def _version(document: Document) -> str | None:
    """The version to review the object in; None if these rules do not concern it."""
    api_version = str(document.body.get("apiVersion") or "")
    if document.kind in _GROUP_KINDS and api_version.startswith(_GROUP):
        return api_version.removeprefix(_GROUP)
    if (api_version, document.kind) in (("v1", "Pod"), (f"{_GROUP}v1", "PriorityClass")):
        return "v1"
    return None


def _unknown_fields(document: Document) -> list[tuple[str, str]]:
    """Fields that the version does not have: a server would drop them, kubectl has it refuse them."""
    try:
        normalise(document.body, unknown="refuse")
    except UnknownFieldsError as error:
        return [(field, "unknown field") for field in error.fields]
    except DecodeError:
        pass  # the review says so
    return []


def _classes(documents: Iterable[Document]) -> Iterator[PriorityClass]:
    for document in documents:
        if document.kind == "PriorityClass":
            try:
                body = {name: value for name, value in document.body.items() if name not in ("apiVersion", "kind")}
                yield read_part(PriorityClass, body)
            except DecodeError:
                continue  # the review says so


def _assumed(document: Document, classes: list[PriorityClass]) -> list[PriorityClass]:
    """The known classes, and one that suits the group if it names one that is not among them."""
    spec = document.body.get("spec")
    name = spec.get("priorityClassName") if isinstance(spec, dict) else None
    known = {"system-cluster-critical", "system-node-critical", *(item.name for item in classes)}
    if not isinstance(spec, dict) or not isinstance(name, str) or not name or name in known:
        return classes
    click.echo(f"{document.file}: {document.label}: PriorityClass {name} is not in the files; not checked", err=True)
    value, policy = spec.get("priority"), spec.get("preemptionPolicy")
    suitable = PriorityClass(
        metadata=ObjectMeta(name=name),
        value=value if isinstance(value, int) else 0,
        preemption_policy=policy if isinstance(policy, str) else None,
    )
    return [*classes, suitable]


def _documents(sources: Iterable[str]) -> Iterator[Document | Finding]:
    for source in sources:
        if source == "-":
            yield from _parse("-", sys.stdin.read())
            continue
        path = Path(source)
        files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.suffix in _SUFFIXES)
        for file in files:
            try:
                yield from _parse(str(file), file.read_text(encoding="utf-8"))
            except (OSError, UnicodeDecodeError) as error:
                yield Finding(str(file), "", "", f"cannot read: {error}")


def _parse(file: str, text: str) -> Iterator[Document | Finding]:
    try:
        bodies = [body for body in yaml.load_all(text, _Loader) if body is not None]
    except yaml.YAMLError as error:
        yield Finding(file, "", "", f"not YAML: {' '.join(str(error).split())}")
        return
    except RecursionError:
        yield Finding(file, "", "", "not read: it nests too deeply")
        return
    place = 0
    for body in bodies:
        for item in _items(body):
            place += 1
            if isinstance(item, dict):
                yield Document(file, place, item)
            else:
                yield Finding(file, f"#{place}", "", "not an object")


def _items(body: Any) -> list[Any]:
    """The objects of a List, or the object itself."""
    if isinstance(body, dict) and str(body.get("kind")).endswith("List") and isinstance(body.get("items"), list):
        return list(body["items"])
    return [body]


class _Loader(yaml.SafeLoader):
    """YAML as JSON has it: a time stays the string that it is in Kubernetes."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
