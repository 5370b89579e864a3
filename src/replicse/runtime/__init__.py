"""What keeps jobs alive and apart: locks, devices, the scheduler, progress, and one process that forks many."""
