"""`python -m benchmarks.readme`: write what each row measures, and the figures of results.json, into README.md."""

from __future__ import annotations

from pathlib import Path

from benchmarks.report import Report
from benchmarks.rows import specs

FOLDER = Path(__file__).parent
README, RESULTS = FOLDER / "README.md", FOLDER / "results.json"


def written(text: str, report: Report) -> str:
    """Return the text of README.md with both generated parts, each between two marks."""
    for name, content in (("rows", explanations()), ("results", f"{report.circumstances}\n\n{report.to_markdown()}")):
        first, last = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
        if first not in text or last not in text:
            raise ValueError(f"{README.name} needs the lines {first.strip()} and {last.strip()}")
        text = f"{text.partition(first)[0]}{first}\n{content}\n{last}{text.partition(last)[2]}"
    return text


def explanations() -> str:
    """Return one line for each kind of row, from the docstring of what measures it."""
    works: dict[str, list[str]] = {}
    for spec in specs():
        works.setdefault(spec.about, []).append(spec.work.partition(", n = ")[0])
    return "".join(f"- {'; '.join(dict.fromkeys(names))}: {about}\n" for about, names in works.items())


def main() -> None:
    """Write the file."""
    report = Report.from_json(RESULTS.read_text(encoding="utf-8"))
    README.write_text(written(README.read_text(encoding="utf-8"), report), encoding="utf-8")


if __name__ == "__main__":
    main()
