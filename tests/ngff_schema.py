"""The schema of OME-NGFF, as its own project publishes it."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import jsonschema
from referencing import Registry
from referencing.jsonschema import DRAFT202012


def check_schema(attributes):
    """Hold the attributes of a store against the strict schema of OME-NGFF 0.5."""
    folder = Path(importlib.util.find_spec("ngff_zarr").origin).parent / "spec/0.5/schemas"
    schemas = [json.loads(path.read_text()) for path in folder.glob("*.schema")]
    known = Registry().with_resources([(schema["$id"], DRAFT202012.create_resource(schema)) for schema in schemas])
    strict = json.loads((folder / "strict_image.schema").read_text())
    jsonschema.Draft202012Validator(strict, registry=known).validate(attributes)
