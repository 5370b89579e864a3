"""Run jobs: locks, devices, the scheduler, progress, and a job server."""
