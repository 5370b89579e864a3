# All of Snakemake that is no public part of it, each with what no public one does. Helpers only, no rule.
from snakemake.io import IOFile
from snakemake.jobs import GroupJob, Job


def wake_for_jobs_only():
    """Take Snakemake's limit of 100 job starts a second from its scheduler, unless another one was asked for.

    With it, the scheduler is woken each second once for every job that ever ended: after 270 of 839 jobs Snakemake's own
    process had taken a fifth of all CPU time.
    """
    limit = getattr(workflow.scheduler, "job_rate_limiter", None)
    if limit is not None and (limit.max_jobs, limit.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None


def tell_refusals():
    """Keep in the log of a job that no scheduler took, so that it has no number there, what its executor says.

    Snakemake drops that of a group. It makes logs that are absent once it has reported, so they are written before.
    """
    log_error = Job.log_error

    def of_job(job, msg=None, *given, **said):
        if msg and "external_jobid" not in said:
            for log in job.log:
                keep_refusal(log, msg)
        log_error(job, msg, *given, **said)

    def of_group(group, msg=None, aux_logs=None, **said):
        for job in sorted(group.jobs, key=lambda job: job.rule.name):
            job.log_error(msg, indent=True, **said)

    Job.log_error, GroupJob.log_error = of_job, of_group


def force(job):
    """Have Snakemake make a job again: its records say so, which it does not know where its metadata is lost."""
    if workflow.is_main_process and RerunTrigger.PARAMS in workflow.rerun_triggers:
        workflow.dag.forcefiles.add(job.outputs[0])


def has_metadata(job):
    """Return whether Snakemake knows with what parameters it has made a job: only then it compares these itself."""
    return bool(workflow.persistence.metadata(IOFile(job.outputs[0])))
