import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { resumeOffsetsOf, versionOffsets } from '../../../src/jobs/learning/version-offsets.ts'
import { RetrainLoop } from '../../../src/jobs/retrain/loop.ts'
import type { RetrainOptions, RetrainOutcome } from '../../../src/jobs/retrain/options.ts'
import { retrain } from '../../../src/jobs/retrain/retrain.ts'
import { RetrainTrainer } from '../../../src/jobs/retrain/trainer.ts'
import {
  offsetsIn,
  rangesAfter,
  rangesOfTopic,
} from '../../../src/models/observations/topic-ranges.ts'
import { exportVersion, importVersion } from '../../../src/models/publish/transfer.ts'
import { processingName } from '../../../src/models/registry/processing-name.ts'
import type { DataRange } from '../../../src/models/registry/ranges/data-range.ts'
import type { RegisteredVersion } from '../../../src/models/registry/version.ts'
import { ModelRegistry } from '../../../src/models/versions/model-registry.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { feedRatings } from '../../../src/training/evaluate/ratings-topic.ts'
import { temporaryFolder } from '../../connectors/log/fixture.ts'

/** A log, a registry and a trainer, as one machine has them. */
class Machine {
  readonly topics: LogTopics
  readonly registry: ModelRegistry
  readonly steps: string[] = []
  private readonly folder = temporaryFolder()

  /** `copied`: the machine whose log it has a copy of; the registry is its own. */
  constructor(copied?: Machine) {
    if (copied !== undefined) cpSync(copied.log, this.log, { recursive: true })
    const place = { logDirectory: join(this.folder, 'registry') }
    this.topics = new LogTopics(this.log)
    this.registry = new ModelRegistry({ place, clock: systemClock })
    onTestFinished(() => this.topics[Symbol.asyncDispose]())
  }

  get log(): string {
    return join(this.folder, 'log')
  }

  /** Feeds `count` ratings that depend on `shift`; each feed has a name of its own. */
  async feed(count: number, shift: number, feed = 'test'): Promise<void> {
    const ratings = Array.from({ length: count }, (_, n) => ({
      user: `u${n % 17}`,
      item: `i${n % 11}`,
      rating: 1 + ((n + shift) % 5),
      timestamp: n * 1000,
    }))
    const to = { topics: this.topics, topic: 'ratings', feed, clock: systemClock }
    await feedRatings(ratingsTable(ratings), to)
  }

  get options(): RetrainOptions {
    const { log, registry, folder, steps } = this
    return {
      ...{ place: { logDirectory: log }, registry, model: 'als-model', observations: 'ratings' },
      als: { factors: 2, iterations: 1, threads: 0 },
      rule: { rule: 'gram' },
      temporary: join(folder, 'temporary'),
      start: () => {
        const trainer = new RetrainTrainer(() => {})
        return {
          ask: async (request) => (await trainer.answer(request)) as never,
          async [Symbol.asyncDispose]() {},
        }
      },
      newId: () => `id-of-${folder}`,
      clock: systemClock,
      onStep: (step) => steps.push(step),
    }
  }

  retrain(): Promise<RetrainOutcome> {
    return retrain(this.options)
  }

  async version(number: number): Promise<RegisteredVersion> {
    return (await this.registry.read()).versions.get('als-model')!.get(number)!
  }

  /** What a loop counts as new observations. */
  async newObservations(): Promise<number> {
    const seen = Promise.withResolvers<number>()
    const loop = new RetrainLoop({
      ...this.options,
      policy: {},
      onLook: (facts) => seen.resolve(facts.newObservations),
      onError: seen.reject,
    })
    loop.start()
    const found = await seen.promise
    await loop.close()
    return found
  }

  offsetsOf(number: number) {
    const { registry, log } = this
    return {
      registry,
      ...{ place: { logDirectory: log }, model: 'als-model', observations: 'ratings', number },
    }
  }

  /** The version's export, in a file. */
  async exported(version: RegisteredVersion): Promise<string> {
    const file = join(this.folder, 'version.weirmodel')
    await exportVersion(this.topics, version, file)
    return file
  }

  async import(file: string): Promise<RegisteredVersion> {
    const options = { file, model: 'als-model', clock: systemClock }
    return (await importVersion(this.topics, this.registry, options)).version
  }
}

/** A machine with a version of 300 ratings. */
async function trained(): Promise<{ machine: Machine; version: RegisteredVersion }> {
  const machine = new Machine()
  await machine.feed(300, 0)
  expect(await machine.retrain()).toMatchObject({ kind: 'candidate' })
  return { machine, version: await machine.version(1) }
}

/** The version as an earlier build registered it. */
function withoutIds(version: RegisteredVersion): RegisteredVersion {
  const bare = ({ topicId: _, clusterId: __, ...range }: DataRange): DataRange => range
  const { lineage } = version
  return { ...version, lineage: { ...lineage, ranges: lineage.ranges.map(bare) } }
}

describe('on its own machine, a version', () => {
  it('names topic and log in its ranges, and its observations are not new', async () => {
    const { machine, version } = await trained()
    const { id, cluster } = await machine.topics.identity('ratings')
    const ofTopic = { topic: 'ratings', topicId: id, clusterId: cluster }
    const { ranges } = version.lineage
    expect(
      ranges.map(({ partition: _, from: __, to: ___, read: ____, ...range }) => range),
    ).toEqual(ranges.map(() => ofTopic))
    expect(await machine.retrain()).toMatchObject({ kind: 'exists' })
    expect(await machine.newObservations()).toBe(0)
    const { number, ...options } = machine.offsetsOf(1)
    const resume = await resumeOffsetsOf(number, options)
    expect(resume.map(({ partition, next }) => [partition, next])).toEqual(
      (await machine.topics.bounds('ratings')).map(({ partition, end }) => [partition, end]),
    )
    expect(await versionOffsets(number, options)).toMatchObject({
      ...{ kind: 'resumes', isAssumed: false, isGone: false },
    })
  })

  it('is the same one when it comes back from an export', async () => {
    const { machine, version } = await trained()
    const file = await machine.exported(version)
    expect(await machine.import(file)).toMatchObject({ number: 1 })
  })
})

describe('on another machine with a topic of the same name and as many records, a version', () => {
  it('has trained on none of its observations: they are new to retrainings and learners', async () => {
    const { machine: home, version } = await trained()
    const away = new Machine()
    await away.feed(300, 2)
    const imported = await away.import(await home.exported(version))
    expect(imported.lineage).toEqual(version.lineage)
    const all = offsetsIn(await rangesOfTopic(away.topics, 'ratings'))
    expect(await away.newObservations()).toBe(all)
    const { number, ...options } = away.offsetsOf(1)
    expect(await resumeOffsetsOf(number, options)).toEqual([])
    expect(await versionOffsets(number, options)).toEqual({ kind: 'elsewhere' })
    expect(await away.retrain()).toMatchObject({ kind: 'candidate', version: { number: 2 } })
    expect(await away.newObservations()).toBe(0)
  })

  it('of an earlier build, without ids, is taken for one of another topic, too', async () => {
    const { machine: home, version } = await trained()
    const away = new Machine()
    await away.feed(300, 2)
    const imported = await away.import(await home.exported(withoutIds(version)))
    expect(imported.lineage.ranges.map(({ topicId }) => topicId)).toEqual(
      version.lineage.ranges.map(() => ''),
    )
    const { number, ...options } = away.offsetsOf(1)
    expect(await versionOffsets(number, options)).toEqual({ kind: 'elsewhere' })
    expect(await away.retrain()).toMatchObject({ kind: 'candidate', version: { number: 2 } })
  })
})

describe('a version of an earlier build, without ids', () => {
  it('goes on with the topic of its name, and a retraining says what is assumed', async () => {
    const { machine, version } = await trained()
    const bare = withoutIds(version)
    const { code, hyperparameters, ranges } = bare.lineage
    const name = processingName({ ranges, files: [], code, hyperparameters })
    const place = { logDirectory: temporaryFolder() }
    const registry = new ModelRegistry({ place, clock: systemClock })
    await registry.require({ kind: 'register', version: { ...bare, processingName: name } })
    const { number, ...offsets } = { ...machine.offsetsOf(1), registry }
    expect(await versionOffsets(number, offsets)).toMatchObject({
      kind: 'resumes',
      isAssumed: true,
    })
    const resume = await resumeOffsetsOf(number, offsets)
    expect(resume.filter(({ next }) => next > 0).map(({ next }) => next)).toEqual(
      ranges.map(({ to }) => to),
    )
    expect(await rangesAfter(machine.topics, 'ratings', ranges)).toEqual([])
    expect(await retrain({ ...machine.options, registry })).toMatchObject({ kind: 'exists' })
    expect(machine.steps.at(-1)).toBe(
      `version 1 does not say the id of the topic that it was trained on: topic ratings of ${machine.topics.place} is taken for it`,
    )
  })
})

describe('on a copy of its log that went its own way, a version', () => {
  /** Both machines had 200 ratings, then each got 100 others; the version was trained at home. */
  async function diverged(): Promise<{ home: Machine; away: Machine; version: RegisteredVersion }> {
    const home = new Machine()
    await home.feed(200, 0)
    const away = new Machine(home)
    await home.feed(100, 1, 'more')
    await away.feed(100, 2, 'more')
    expect(await home.retrain()).toMatchObject({ kind: 'candidate' })
    const version = await home.version(1)
    await away.import(await home.exported(version))
    return { home, away, version }
  }

  it('has the same topic and offsets, and yet a retraining trains, and says what differs', async () => {
    const { home, away, version } = await diverged()
    expect(await away.topics.identity('ratings')).toEqual(await home.topics.identity('ratings'))
    expect(await away.topics.bounds('ratings')).toEqual(await home.topics.bounds('ratings'))
    const imported = await away.version(1)
    expect(imported.processingName).toBe(version.processingName)
    expect(await away.newObservations()).toBe(offsetsIn(version.lineage.ranges))
    expect(await away.retrain()).toMatchObject({ kind: 'candidate', version: { number: 2 } })
    expect(away.steps.join()).toMatch(
      /version 1 was trained at the same offsets, but on other records: the training read \d+ ratings with digest [0-9a-f]{16} at offsets 0 to \d+ of ratings\/\d, which has \d+ with [0-9a-f]{16} there now/,
    )
    // What it has trained now is known, whatever has the same offsets.
    expect(await away.retrain()).toMatchObject({ kind: 'exists', version: { number: 2 } })
    expect(await away.newObservations()).toBe(0)
    expect(await home.retrain()).toMatchObject({ kind: 'exists', version: { number: 1 } })
  })

  it('says that a learner does not know where to begin', async () => {
    const { away } = await diverged()
    const { number, ...options } = away.offsetsOf(1)
    expect(await versionOffsets(number, options)).toMatchObject({
      kind: 'other-records',
      what: expect.stringContaining('with digest'),
    })
    expect(await resumeOffsetsOf(number, options)).toEqual([])
  })

  it('and the one that was trained here are two versions, also where they meet', async () => {
    const { home, away } = await diverged()
    // The topic of the copy has the imported version 1, which this registry does not know.
    const local = new Machine(away)
    expect(await local.retrain()).toMatchObject({ kind: 'candidate', version: { number: 2 } })
    const file = await home.exported(await home.version(1))
    expect(await local.import(file)).toMatchObject({ number: 3 })
    expect((await local.version(2)).processingName).toBe((await local.version(3)).processingName)
    expect(await local.retrain()).toMatchObject({ kind: 'exists', version: { number: 2 } })
  })
})

it('a version whose topic was cut off does not resume behind its end', async () => {
  const { machine, version } = await trained()
  const [range] = version.lineage.ranges
  const longer = { ...range!, to: range!.to + 10 }
  const lineage = { ...version.lineage, ranges: [longer] }
  const registry = new ModelRegistry({
    place: { logDirectory: temporaryFolder() },
    clock: systemClock,
  })
  await registry.require({ kind: 'register', version: { ...version, lineage } })
  const { number, ...options } = { ...machine.offsetsOf(1), registry }
  expect(await versionOffsets(number, options)).toEqual({
    kind: 'other-records',
    what: `ratings/${longer.partition} ends at ${range!.to}, and the training read up to ${longer.to}`,
  })
})

it('a version whose records the topic has removed resumes after its training, as nothing can be compared', async () => {
  const machine = new Machine()
  await machine.topics.create('ratings', { partitions: 1, segmentBytes: 500 })
  await machine.feed(300, 0)
  expect(await machine.retrain()).toMatchObject({ kind: 'candidate' })
  const [trainedOn] = (await machine.version(1)).lineage.ranges
  await machine.feed(300, 1, 'later')
  await machine.topics.deleteRecords('ratings', [trainedOn!.to])
  const [{ start } = { start: 0 }] = await machine.topics.bounds('ratings')
  expect(start).toBeGreaterThan(trainedOn!.from)
  const { number, ...options } = machine.offsetsOf(1)
  expect(await versionOffsets(number, options)).toMatchObject({
    ...{ kind: 'resumes', isGone: true, isAssumed: false },
    offsets: [{ partition: 0, start, next: trainedOn!.to }],
  })
})
