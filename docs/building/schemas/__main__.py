"""Writes the schemas to docs/schema."""

from docs.building.schemas import FOLDER, SCHEMAS, text_of

for name in SCHEMAS:
    (FOLDER / f"{name}.json").write_text(text_of(name), encoding="utf-8")
    print(f"docs/schema/{name}.json")
