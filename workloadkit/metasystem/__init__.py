"""Metasystems: several sites, what they publish, and meta-schedulers that send jobs to them.

`simulate_metasystem` runs one that `read_metasystem` reads from JSON, or that is made of the
classes here. A custom meta-scheduler is a subclass of `MetaPolicy`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "files": [
            *("Link", "MetaScheduler", "Metasystem"),
            *("read_graph", "read_metasystem", "write_metasystem"),
        ],
        "graphs": ["Graph", "Task"],
        "policies": ["MetaPolicy"],
        "result": ["MetaSchedule"],
        "rules": ["check_metasystem"],
        "simulate": ["simulate_metasystem"],
        "sites": ["Access", "Publishes", "Site", "Waits"],
        "sources": ["JobSource"],
        "views": ["MetaJob", "SiteView"],
    },
)
