"""Compiled code of metasystems: slots in plans, sites that receive jobs, meta-schedulers."""
