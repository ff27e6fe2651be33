"""The planner: from facts to a sealed request with a receipt. Pure.

It is a generator of frozen questions. It never reads a clock, makes an id or calls a model: the
same facts and answers give the same bytes in any process.
"""
