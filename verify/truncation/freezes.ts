import type { CheckpointPace } from '../jobs/configuration.ts'
import type { SupervisedJob } from '../jobs/supervised-job.ts'
import { uncommittedRecords } from '../kafka/client.ts'
import { Copies, type CopyTopics, RECORDS, records, topicsOf } from './copies.ts'
import type { CopySite } from './copy-site.ts'
import { seen } from './seen.ts'
import { writeRecords } from './unclean-topic.ts'

/** Longer than the interval and what a checkpoint takes on a busy machine. */
const TRANSACTION_TIMEOUT_MS = 25_000
/** Between two checkpoints there is time to see records that are not committed; no other limit ends a checkpoint. */
const PACE: CheckpointPace = { intervalMs: 10_000, timeoutMs: 60_000, requestMs: 60_000 }
/** Delay of HDFS that holds a checkpoint open between its manifest and the commit. */
const SLOW_STEP_MS = 600

/** Resolves at the moment of a checkpoint at which the job is frozen. */
type Moment = (site: CopySite, job: SupervisedJob) => Promise<void>

/** Before the barrier: nothing but the next checkpoint can notice that the transactions were aborted. */
export function freezeBetweenRecords(site: CopySite): Promise<number> {
  return freezeUntilAborted(site, async () => undefined)
}

/** When the manifest of a checkpoint is there, and the answer to its writer is still on the way. */
export function freezeBeforeCommit(site: CopySite): Promise<number> {
  return freezeUntilAborted(site, async ({ world }, job) => {
    world.hdfsLine.delay(SLOW_STEP_MS)
    await site.filesOf(job).nextManifest()
  })
}

/**
 * Freezes a copies job at a moment at which all records of a step are in the log and none is committed, until the
 * brokers have aborted their transaction. Nothing may be lost: no checkpoint counts whose transactions are aborted.
 */
async function freezeUntilAborted(site: CopySite, moment: Moment): Promise<number> {
  const { world } = site
  await world.untilBrokersRun()
  const topics = topicsOf(site)
  await site.createTopics(Object.values(topics))
  const transactionTimeoutMs = TRANSACTION_TIMEOUT_MS
  const job = await site.copiesJob({ ...topics, outOfRange: 'fail', transactionTimeoutMs }, PACE)
  job.start()
  const copies = new Copies(site, topics)
  const kept: string[] = []
  const giveUpAt = performance.now() + 2 * site.limitMs
  try {
    for (let step = 0, aborted = false; !aborted; step++) {
      if (performance.now() > giveUpAt) throw new Error(`no transaction of ${job.name} was open`)
      const more = records(`${step}-`)
      kept.push(...more)
      if (step === 0) await writeRecords(world, topics.input, more)
      else aborted = await abortOf({ site, job, topics }, more, moment)
      // When all of them are committed, the next checkpoint is some seconds away.
      if (!aborted) await copies.until(kept)
    }
    await copies.compare({ kept, mayBeLost: [] })
  } finally {
    world.hdfsLine.delay(0)
    await job.stop('SIGKILL')
  }
  return 0
}

/** A copies job and its topics. */
interface Copied {
  readonly site: CopySite
  readonly job: SupervisedJob
  readonly topics: CopyTopics
}

/**
 * Writes records and freezes the job at the moment. Whether they were then of an open transaction, which is aborted now, and
 * of no checkpoint that has completed: what is lost between a completed checkpoint and its commit cannot be had again.
 */
async function abortOf(
  { site, job, topics }: Copied,
  more: readonly string[],
  moment: Moment,
): Promise<boolean> {
  const { world, limitMs } = site
  const files = site.filesOf(job)
  const before = new Set(await files.completions())
  const open = (): Promise<number> => uncommittedRecords(world.directBrokers, topics.once)
  await writeRecords(world, topics.input, more)
  if (!(await seen(async () => (await open()) === RECORDS, PACE.intervalMs))) return false
  await moment(site, job)
  let aborted = false
  await job.freezeDuring(async () => {
    const isComplete = (await files.completions()).some((name) => !before.has(name))
    if (isComplete || (await open()) !== RECORDS) return
    // A frozen process commits nothing: what is open now ends by its timeout.
    aborted = await seen(async () => (await open()) === 0, limitMs)
  })
  world.hdfsLine.delay(0)
  return aborted
}
