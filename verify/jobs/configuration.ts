/** How often a job takes checkpoints, and how long each of them, and each request of it to HDFS, may take. */
export interface CheckpointPace {
  readonly intervalMs: number
  readonly timeoutMs: number
  readonly requestMs: number
}

/** Pace of the jobs whose fault chooses no other one. */
export const USUAL_PACE: CheckpointPace = { intervalMs: 600, timeoutMs: 8000, requestMs: 3000 }

/** What the configuration of a job depends on. */
export interface JobPlace {
  readonly slots: number
  readonly stateFolder: string
  /** URL of the folder of its checkpoints. */
  readonly checkpoints: string
  readonly pace: CheckpointPace
}

/** Configuration of a verified job: it restarts at once, and as often as it must. */
export function jobConfiguration({
  slots,
  stateFolder,
  checkpoints,
  pace,
}: JobPlace): Record<string, string> {
  return {
    'parallelism.default': String(slots),
    'pipeline.max-parallelism': '32',
    'state.backend.directory': stateFolder,
    'execution.checkpointing.interval': `${pace.intervalMs} ms`,
    'execution.checkpointing.timeout': `${pace.timeoutMs} ms`,
    'execution.checkpointing.num-retained': '2',
    'execution.checkpointing.tolerable-failed-checkpoints': '100000',
    'execution.checkpointing.dir': checkpoints,
    'restart-strategy.type': 'fixed-delay',
    'restart-strategy.fixed-delay.attempts': '1000000',
    'restart-strategy.fixed-delay.delay': '200 ms',
  }
}
