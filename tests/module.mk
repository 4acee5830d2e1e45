# tests/: see CONTRIBUTING.md
