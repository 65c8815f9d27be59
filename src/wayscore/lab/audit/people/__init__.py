"""How far people's judgements of walks follow each metric."""

from wayscore.lab.audit.people.people import audit_people as audit_people
