"""Names of what the controller makes: the same each time, and never over the API's limits.

Names help people; the controller itself finds its objects by owner and reference.
"""

import hashlib

from berth.workload.validation.formats import MAX_LABEL, MAX_LONG_NAME

# The template of the whole, in a job with roles; no role may have this name.
ROOT = "root"

_SUFFIX = "-pgt-0"


def template_name(job: str) -> str:
    """The template of a job without roles: a DNS label, so a longer name is cut, and dots become dashes."""
    return _cut(job.replace(".", "-"), MAX_LABEL - len(_SUFFIX)) + _SUFFIX


def workload_name(job: str, uid: str) -> str:
    """The Workload of a job. A job that is made anew under its name has another UID, so another Workload."""
    return _with_hash(job, uid)


def group_name(workload: str, template: str) -> str:
    """The group of a template. Both parts are in the hash, so cutting makes no two names equal."""
    return _with_hash(f"{workload}-{template}", f"{workload}/{template}")


def pod_name(job: str, part: str, index: int) -> str:
    """One Pod of a part."""
    return _with_hash(f"{job}-{part}", f"{job}/{part}") + f"-{index}"


def _with_hash(text: str, hashed: str) -> str:
    digest = hashlib.sha256(hashed.encode()).hexdigest()[:10]
    return f"{_cut(text, MAX_LONG_NAME - 20)}-{digest}"


def _cut(text: str, length: int) -> str:
    return text[:length].rstrip("-.")
