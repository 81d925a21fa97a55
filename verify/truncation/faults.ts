import type { SupervisedJob } from '../jobs/supervised-job.ts'
import { readTopic } from '../kafka/client.ts'
import { type CopiedRecords, checkCopies } from './copies-check.ts'
import type { CopySite } from './copy-site.ts'
import { UncleanPair, writeRecords } from './unclean-topic.ts'

/** Number of records of one step. */
const RECORDS = 100
const LOOK_MS = 250

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Topics of one run of the copies job. */
interface CopyTopics {
  readonly input: string
  readonly once: string
  readonly atLeastOnce: string
}

/** Longer than a checkpoint takes on a busy machine, shorter than the brokers keep an id that is not used. */
const SHORT_TIMEOUT_MS = 10_000
const FREEZES = 2
/** Time in which records are read and written, and most of them not yet committed. */
const UNCOMMITTED_MS = 200

/**
 * Freezes the job for longer than its transactions may be open, just after the last records: nothing but its next
 * checkpoint can notice that they were aborted.
 */
export async function freezeQuietly(site: CopySite): Promise<number> {
  const { world } = site
  await world.untilBrokersRun()
  const topics = topicsOf(site)
  await site.createTopics(Object.values(topics))
  const transactionTimeoutMs = SHORT_TIMEOUT_MS
  const job = await site.copiesJob({ ...topics, outOfRange: 'fail', transactionTimeoutMs })
  job.start()
  const copies = new Copies(site, topics)
  const kept = [...records('a')]
  try {
    await writeRecords(world, topics.input, kept)
    await copies.until(kept)
    for (let freeze = 0; freeze < FREEZES; freeze++) {
      const more = records(`f${freeze}-`)
      kept.push(...more)
      await writeRecords(world, topics.input, more)
      await pause(UNCOMMITTED_MS)
      await job.freeze(1.5 * SHORT_TIMEOUT_MS)
    }
    await copies.compare({ kept, mayBeLost: [] })
  } finally {
    await job.stop('SIGKILL')
  }
  return 0
}

/**
 * The log of a source loses records that the job has read, and gets others at their offsets. The job must end
 * with the place, and with `earliest-of-truncation` it must read all that is there.
 */
export async function truncateSource(site: CopySite): Promise<number> {
  const { world, limitMs } = site
  await world.untilBrokersRun()
  const topics = topicsOf(site)
  const pair = new UncleanPair(site)
  await pair.create([topics.input])
  await site.createTopics([topics.once, topics.atLeastOnce])
  const job = await site.copiesJob({ ...topics, outOfRange: 'fail' })
  job.start()
  const copies = new Copies(site, topics)
  const [before, missed, after] = [records('a'), records('b'), records('c', 3)]
  try {
    await writeRecords(world, topics.input, before)
    await copies.until(before)
    await pair.killSecond()
    await writeRecords(world, topics.input, missed)
    await copies.until(missed)
    await pair.elect([topics.input])
    // More than were lost: the position of the job is in the middle of them.
    await writeRecords(world, topics.input, after)
    const place = `was truncated at offset ${RECORDS}`
    if (!(await seen(() => job.causes.some((cause) => cause.includes(place)), limitMs))) {
      site.violate('truncation-ignored', `${job.name} reads on in a log that lost its records`)
    }
    job.reconfigure({ outOfRange: 'earliest-of-truncation' })
    await job.signal('SIGKILL')
    await copies.compare({ kept: [...before, ...missed, ...after], mayBeLost: [] })
  } finally {
    await end(job, pair)
  }
  return 2
}

/** The topics of the sinks lose records. The job must go on by itself, and write what comes afterwards. */
export async function truncateSink(site: CopySite): Promise<number> {
  const { world } = site
  await world.untilBrokersRun()
  const topics = topicsOf(site)
  const outputs = [topics.once, topics.atLeastOnce]
  const pair = new UncleanPair(site)
  await pair.create(outputs)
  await site.createTopics([topics.input])
  const job = await site.copiesJob({ ...topics, outOfRange: 'fail' })
  job.start()
  const copies = new Copies(site, topics)
  const [before, missed, underWay, after] = ['a', 'b', 'c', 'd'].map((name) => records(name))
  try {
    await writeRecords(world, topics.input, before!)
    await copies.until(before!)
    await pair.killSecond()
    await writeRecords(world, topics.input, missed!)
    await copies.until(missed!)
    await writeRecords(world, topics.input, underWay!)
    await pair.elect(outputs)
    await writeRecords(world, topics.input, after!)
    const mayBeLost = [...missed!, ...underWay!]
    await copies.compare({ kept: [...before!, ...after!], mayBeLost })
  } finally {
    await end(job, pair)
  }
  return 2
}

const records = (name: string, times = 1): readonly string[] =>
  Array.from({ length: RECORDS * times }, (_, i) => `${name}${i}`)

function topicsOf({ newName }: CopySite): CopyTopics {
  const name = newName('copies')
  return { input: `${name}-in`, once: `${name}-once`, atLeastOnce: `${name}-at-least-once` }
}

async function end(job: SupervisedJob, pair: UncleanPair): Promise<void> {
  await job.stop('SIGKILL')
  pair.startFirst()
}

/** Whether a condition holds within a time. */
async function seen(check: () => boolean | Promise<boolean>, limitMs: number): Promise<boolean> {
  const giveUpAt = performance.now() + limitMs
  while (!(await check())) {
    if (performance.now() > giveUpAt) return false
    await pause(LOOK_MS)
  }
  return true
}

/** The copies in the two output topics. */
class Copies {
  private readonly site: CopySite
  private readonly outputs: readonly (readonly [string, 'exactly-once' | 'at-least-once'])[]

  constructor(site: CopySite, { once, atLeastOnce }: CopyTopics) {
    this.site = site
    this.outputs = [
      [once, 'exactly-once'],
      [atLeastOnce, 'at-least-once'],
    ]
  }

  /** Resolves when all of the records are in both topics. Throws after the limit of a fault. */
  async until(wanted: readonly string[]): Promise<void> {
    for (const [topic] of this.outputs) {
      if (!(await this.has(topic, wanted))) throw new Error(`${topic}: no copies of ${wanted[0]}`)
    }
  }

  private has(topic: string, wanted: readonly string[]): Promise<boolean> {
    return seen(async () => {
      const found = new Set(await this.read(topic))
      return wanted.every((value) => found.has(value))
    }, this.site.limitMs)
  }

  /** Waits for the records that must be there, and reports what is lost, repeated or of no record. */
  async compare(all: CopiedRecords): Promise<void> {
    for (const [topic, guarantee] of this.outputs) {
      await this.has(topic, all.kept)
      const check = checkCopies(await this.read(topic), all, guarantee)
      if (check.lost + check.duplicated + check.unknown === 0) continue
      this.site.violate('wrong-copies', `${topic}: ${JSON.stringify(check)}`)
    }
  }

  /** Values of a topic, without those of transactions that are open or aborted; none while no broker answers. */
  private async read(topic: string): Promise<string[]> {
    const found = await readTopic(this.site.world.directBrokers, topic).catch(() => [])
    return found.map(({ value }) => value.toString())
  }
}
