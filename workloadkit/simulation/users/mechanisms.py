"""Users who react, compiled: the mechanisms that are built in."""

from workloadkit._kernels import batch_users, dependent_users, queue_users, site_users
from workloadkit.simulation.parts import acts_for

acts_for(batch_users.BatchUsers, batch_users)
acts_for(dependent_users.DependentUsers, dependent_users)
acts_for(queue_users.QueueUsers, queue_users)
acts_for(site_users.SiteUsers, site_users)
