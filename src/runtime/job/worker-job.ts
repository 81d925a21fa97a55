import type { Clock } from '../../core/clock.ts'
import { isWeirError, WeirError } from '../../core/errors.ts'
import { noticeFrom } from '../../core/lifetime/wait.ts'
import type { Random } from '../../core/random.ts'
import { parseStorageUrl } from '../../core/storage-url.ts'
import type { JobOptions } from '../../dataflow/job/definition.ts'
import { buildFromModule, type JobModule } from '../../dataflow/job/module.ts'
import { processClaimant, requireOwnerGone } from '../checkpoint/coordinator/claimant.ts'
import type { CheckpointStorage } from '../checkpoint/storage/checkpoint-storage.ts'
import { loadStorage } from '../checkpoint/storage/load.ts'
import type { JobConfiguration } from '../configuration/configuration.ts'
import { placedError } from '../protocol/failure-cause.ts'
import type { SlotThreadPool } from '../slot/pool/slot-threads.ts'
import type { SlotThreads } from '../slot/threads.ts'
import { WorkerSlot } from '../slot/worker-slot.ts'
import { JobExecution } from './execution.ts'
import { restoreFromOf } from './restore-from.ts'
import { type RunOptions, resolveRunOptions } from './run-options.ts'
import { storedMaxParallelism } from './stored-max-parallelism.ts'

/** Options of a job that runs on worker threads. */
export interface WorkerJobOptions<O extends JobOptions> extends RunOptions {
  /** Module whose default export was made with `defineJob`; every slot thread imports it. */
  readonly module: URL
  readonly jobOptions: O
  readonly random: Random
  /** Threads of this module's slots that were started before. */
  readonly threads?: SlotThreads | undefined
  /** Threads that the slots share with those of other jobs; its owner closes it. @default a thread for each slot */
  readonly pool?: SlotThreadPool | undefined
  /** Called with each warning of the graph. */
  readonly warn?: (sentence: string) => void
  /** The part of the job that it runs. @default the whole job, under its own name */
  readonly part?: Required<Pick<JobModule, 'jobName' | 'rewrite'>>
}

/** Prepares a job with a worker thread for every slot. Throws INVALID_GRAPH, INVALID_ARGUMENT and as the job's `build`. */
export async function createWorkerJob<O extends JobOptions>(
  options: WorkerJobOptions<O>,
): Promise<JobExecution> {
  const run = resolveRunOptions(options)
  if (options.part === undefined) requireOneProcess(run.configuration)
  const { storageUrl } = run
  let job: JobExecution | undefined
  const storage =
    storageUrl === undefined
      ? undefined
      : await loadStorage(storageUrl, (notice) =>
          job?.warned(noticeFrom('checkpoints', notice, {})),
        )
  try {
    job = await build(options, run, storage)
    return job
  } catch (error) {
    await storage?.close()
    throw error
  }
}

/**
 * Throws JOB_ALREADY_RUNNING if another process runs the job, before anything of this start is opened. It looks at a
 * folder of this machine only: the claim of the job's checkpoints asks everywhere, and waits for a storage that is
 * away.
 */
export async function requireNotRunning(
  jobId: string,
  { checkpoints }: JobConfiguration,
  clock: Clock,
): Promise<void> {
  const { directory, takeOver } = checkpoints
  if (directory === undefined || parseStorageUrl(directory).kind !== 'local') return
  const storage = await loadStorage(directory)
  try {
    await requireOwnerGone({ storage, jobId }, processClaimant('', takeOver, clock))
  } catch (error) {
    if (!isWeirError(error) || !error.retryable) throw error
  } finally {
    await storage.close()
  }
}

/** Settings of a group count for nothing in a job that has no group. Throws INVALID_ARGUMENT. */
function requireOneProcess({ scaleOut }: JobConfiguration): void {
  if (Object.keys(scaleOut).length === 0) return
  throw new WeirError(
    'INVALID_ARGUMENT',
    'application.id, scale-out.partitions and the other settings of a group count only with weir run JOB --scale-out: add the flag, or remove them',
  )
}

async function build<O extends JobOptions>(
  { module, jobOptions, random, threads, pool, warn, part }: WorkerJobOptions<O>,
  run: ReturnType<typeof resolveRunOptions>,
  storage: CheckpointStorage | undefined,
): Promise<JobExecution> {
  const { parallelism } = run.configuration
  const maxParallelism = run.configuration.maxParallelism ?? (await maxParallelismOf(run, storage))
  const job: JobModule = {
    url: module.href,
    options: jobOptions,
    parallelism,
    ...(maxParallelism === undefined ? {} : { maxParallelism }),
    ...part,
  }
  const settings = warn === undefined ? {} : { warn }
  const graph = await buildFromModule(import(job.url), job, settings).catch((error: unknown) => {
    throw placedError(error)
  })
  return new JobExecution({
    ...run,
    graph,
    random,
    startSlot:
      pool?.slotsOf(job) ??
      ((slot, listener) => new WorkerSlot({ slot, job, listener, thread: threads?.take(slot) })),
    storage,
    claimant: processClaimant(graph.jobName, run.configuration.checkpoints.takeOver, run.clock),
  })
}

/** A job that sets no max parallelism takes that of the checkpoint that it restores. */
async function maxParallelismOf(
  { jobId, configuration, storageUrl }: ReturnType<typeof resolveRunOptions>,
  storage: CheckpointStorage | undefined,
): Promise<number | undefined> {
  if (storage === undefined || storageUrl === undefined) return undefined
  const { parallelism, checkpoints } = configuration
  const { restoreFrom, restoreOnlyFirst, submittedMs } = checkpoints
  const from = restoreFrom === undefined ? undefined : restoreFromOf(restoreFrom, storageUrl)
  const job = { storage, jobId, parallelism }
  const own = restoreOnlyFirst
    ? await storedMaxParallelism({ ...job, from: undefined, sinceMs: submittedMs })
    : undefined
  return own ?? (await storedMaxParallelism({ ...job, from }))
}
