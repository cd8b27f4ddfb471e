"""docs/mapping.md on the wire: each row of it has one test here."""
