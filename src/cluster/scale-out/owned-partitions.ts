import { asWeirError, type WeirError } from '../../core/errors.ts'
import type { JobExecution } from '../../runtime/job/execution.ts'

/** Listener for what becomes of the job partitions of a process. */
export interface PartitionListener {
  /** The partition processes. */
  running(partition: number): void
  /** The partition could not be restored, or its restart strategy has given up. */
  failed(partition: number, error: WeirError): void
  /** Something that a person should know, after which the partition goes on. */
  warned(partition: number, warning: WeirError): void
}

/** Makes the execution of a job partition. */
export type CreatePartition = (partition: number) => Promise<JobExecution>

/**
 * The job partitions that a process runs, each an execution of its own. What is done to one partition happens in
 * the order of the calls; partitions do not wait for each other.
 */
export class OwnedPartitions {
  private readonly create: CreatePartition
  private readonly listener: PartitionListener
  private readonly owned = new Map<number, JobExecution>()
  private readonly latest = new Map<number, Promise<void>>()

  constructor(create: CreatePartition, listener: PartitionListener) {
    this.create = create
    this.listener = listener
  }

  /** Executions of the partitions that run or are about to. */
  get executions(): ReadonlyMap<number, JobExecution> {
    return this.owned
  }

  /** The partitions that run or are about to, ascending. */
  get all(): readonly number[] {
    return [...this.owned.keys()].toSorted((a, b) => a - b)
  }

  /** The partitions that process, ascending. */
  get running(): readonly number[] {
    return this.all.filter((partition) => this.executions.get(partition)?.status === 'RUNNING')
  }

  /** Starts a partition from its last checkpoint. */
  start(partition: number): Promise<void> {
    return this.after(partition, async () => {
      if (this.owned.has(partition)) return
      try {
        const execution = await this.create(partition)
        this.owned.set(partition, execution)
        this.watch(partition, execution)
        execution.start()
      } catch (error) {
        this.listener.failed(partition, asWeirError(error, 'OPERATOR_FAILED'))
      }
    })
  }

  /** Takes a last checkpoint of a partition and ends it, so that its next owner repeats nothing. */
  release(partition: number): Promise<void> {
    return this.after(partition, async () => {
      const execution = this.owned.get(partition)
      if (execution === undefined) return
      try {
        if (execution.status === 'RUNNING') await execution.release()
      } catch (error) {
        // The next owner continues from the checkpoint before.
        this.listener.warned(partition, asWeirError(error, 'CHECKPOINT_DECLINED'))
      }
      await this.end(partition, execution)
    })
  }

  /** Ends a partition without a checkpoint: it may have another owner. */
  abandon(partition: number): Promise<void> {
    return this.after(partition, async () => {
      const execution = this.owned.get(partition)
      if (execution !== undefined) await this.end(partition, execution)
    })
  }

  /** Ends all partitions without a checkpoint, those too that are about to start. */
  async abandonAll(): Promise<void> {
    await Promise.all([...this.latest.keys()].map((partition) => this.abandon(partition)))
  }

  private async end(partition: number, execution: JobExecution): Promise<void> {
    this.owned.delete(partition)
    await execution.suspend()
  }

  private watch(partition: number, execution: JobExecution): void {
    const { listener } = this
    execution.onWarning(({ error }) => listener.warned(partition, error))
    execution.onStatus(({ to, cause }) => {
      if (this.owned.get(partition) !== execution) return
      if (to === 'RUNNING') listener.running(partition)
      if (to === 'FAILED') {
        this.owned.delete(partition)
        listener.failed(partition, asWeirError(cause, 'OPERATOR_FAILED'))
      }
    })
  }

  /** Runs a step of a partition after those that were asked for before. */
  private after(partition: number, step: () => Promise<void>): Promise<void> {
    const next = (this.latest.get(partition) ?? Promise.resolve()).then(step)
    this.latest.set(
      partition,
      next.catch(() => undefined),
    )
    return next
  }
}
