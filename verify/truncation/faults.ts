import type { SupervisedJob } from '../jobs/supervised-job.ts'
import { Copies, RECORDS, records, topicsOf } from './copies.ts'
import type { CopySite } from './copy-site.ts'
import { seen } from './seen.ts'
import { UncleanPair, writeRecords } from './unclean-topic.ts'

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

async function end(job: SupervisedJob, pair: UncleanPair): Promise<void> {
  await job.stop('SIGKILL')
  pair.startFirst()
}
