import type { ServedJob } from '../../jobs/served-job.ts'

/** Reports an event, or its sentence. */
type Report = (event: Record<string, unknown>, sentence: string) => void

/**
 * Begins the end of a job by a signal: says so at once, and takes the last checkpoint while the ports are
 * open, so that probes and metrics answer until then. Does nothing for a job that does not run any more.
 */
export async function endJob(
  job: Pick<ServedJob, 'execution' | 'takeLastCheckpoint'>,
  report: Report,
): Promise<void> {
  const { execution } = job
  if (execution.status !== 'RUNNING') return
  const { directory, shutdownTimeoutMs } = execution.configuration.checkpoints
  if (directory === undefined) {
    report({ event: 'stopping' }, 'stopping; the job takes no checkpoints')
    return
  }
  const seconds = shutdownTimeoutMs / 1000
  report(
    { event: 'stopping', shutdownTimeoutMs },
    `stopping: a last checkpoint is taken, for at most ${seconds} s (execution.checkpointing.shutdown-timeout); Ctrl-C again ends the job without it`,
  )
  const last = await job.takeLastCheckpoint()
  if (last.kind === 'taken') {
    const { checkpointId } = last
    report({ event: 'last-checkpoint', checkpointId }, `checkpoint ${checkpointId} is the last one`)
  } else if (last.kind === 'failed') {
    report(
      { event: 'last-checkpoint', error: last.why },
      `no last checkpoint: ${last.why}; the next start continues from the checkpoint before, and reads again what came after it`,
    )
  }
}
