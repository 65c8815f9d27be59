"""Audits of the metrics themselves: what they reward, and how far people's judgements follow them."""
