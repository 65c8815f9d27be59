"""How far people's judgements of walks follow each metric."""

from wayscore.auditing.people.people import audit_people as audit_people
