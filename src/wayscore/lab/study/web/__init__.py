"""The questionnaire as web pages: what raters see and do, and what the administrator watches."""
