"""The re-open model: arriving users who may submit further jobs, depending on the response time."""
