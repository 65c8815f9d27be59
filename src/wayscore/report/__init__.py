"""Results and comparisons for people and for programs: text, JSON, CSV, Markdown, LaTeX, HTML, and a page."""
