import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WeirClient } from '../../../src/client/index.ts'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { serveAlsJob } from '../../../src/jobs/serve/als.ts'
import { dataDirectory } from '../../../src/jobs/serve/data-directory.ts'
import type { ServedJob } from '../../../src/jobs/served-job.ts'
import type { AlsRowKind } from '../../../src/models/als/row-key.ts'
import { publishModel } from '../../../src/models/publish/model.ts'
import { ModelRegistry } from '../../../src/models/versions/model-registry.ts'
import { readyVersions } from '../../../src/models/versions/model-versions.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { until } from '../../run/until.ts'

const TOPIC = 'als-model'
const DIMENSION = 8
const KEYS = 60
const SWITCHES = campaignSize(30, 100)

let folder: string
let job: ServedJob
let client: WeirClient
const live: number[] = []
const first = Promise.withResolvers<void>()

/** Every float of version v is v, so that a score shows the versions of its two rows. */
async function publish(topics: LogTopics, version: number): Promise<void> {
  const model = {
    dimension: DIMENSION,
    users: KEYS,
    items: KEYS,
    *rows() {
      const vector = new Float32Array(DIMENSION).fill(version)
      for (let i = 0; i < KEYS; i++) {
        for (const kind of ['U', 'I'] satisfies AlsRowKind[]) yield { id: String(i), kind, vector }
      }
    },
  }
  const facts = {
    name: 'ALS_MODEL',
    biased: false,
    globalMean: 0,
    hyperparameters: {},
    metrics: {},
  }
  await publishModel(model, { log: topics, topic: TOPIC, version, facts, clock: systemClock })
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-switch-'))
  const data = dataDirectory(join(folder, 'data'))
  await using topics = new LogTopics(data.log)
  await publish(topics, 1)
  job = await serveAlsJob({
    data,
    topic: TOPIC,
    slots: 2,
    queryThreads: 2,
    port: 0,
    configuration: {},
    onLive: (version) => {
      live.push(version)
      first.resolve()
    },
  })
  await first.promise
  client = await WeirClient.connect({ port: job.port, deadlineMs: 60_000 })
})

afterAll(async () => {
  await client.close()
  await job.close()
  rmSync(folder, { recursive: true, force: true })
})

describe('switching the live version', () => {
  it('many times under load fails no request and mixes no rows of two versions', async () => {
    const registry = new ModelRegistry({
      place: { logDirectory: join(folder, 'data', 'registry') },
      clock: systemClock,
    })
    await using topics = new LogTopics(join(folder, 'data', 'log'))
    await registry.adopt(TOPIC, await readyVersions(topics, TOPIC))
    await publish(topics, 2)
    const load = new Load(client)
    const running = load.run()
    await registry.adopt(TOPIC, await readyVersions(topics, TOPIC))
    for (let i = 0; i < SWITCHES; i++) {
      const from = live.at(-1)!
      const number = 3 - from
      const command = { name: TOPIC, number, expectedLive: from, atMs: 0, force: 'test' }
      await registry.require({ kind: 'promote', ...command })
      await expect.poll(() => live.at(-1), { interval: 2 }).toBe(number)
      expect((await client.predict('ALS_MODEL', '1-U', '2-I')).score).toBe(scoreOf(number))
      const before = load.answered
      await until('the load asks the version', () => load.answered > before, { everyMs: 1 })
    }
    load.stop()
    await running
    console.info(`${load.answered} predictions over ${live.length - 1} switches`)
    expect(live.length - 1).toBe(SWITCHES)
    expect(load.failures).toEqual([])
    expect(load.mixed).toEqual([])
    expect(load.versions).toEqual(new Set([1, 2]))
  })

  it('lets clients ask for every version by its number', async () => {
    for (const version of [1, 2]) {
      const { score } = await client.predict('ALS_MODEL', '1-U', '2-I', { version })
      expect(score).toBe(scoreOf(version))
    }
    await expect(client.predict('ALS_MODEL', '1-U', '2-I', { version: 3 })).rejects.toMatchObject({
      code: 'UNKNOWN_VERSION',
    })
  })
})

const scoreOf = (version: number): number => DIMENSION * version * version

/** Predictions in frames of many, cold ones among them, as fast as they are answered. */
class Load {
  answered = 0
  readonly failures: unknown[] = []
  readonly mixed: unknown[] = []
  readonly versions = new Set<number>()
  private readonly client: WeirClient
  private isStopped = false

  constructor(client: WeirClient) {
    this.client = client
  }

  stop(): void {
    this.isStopped = true
  }

  async run(): Promise<void> {
    while (!this.isStopped) {
      await Promise.all(Array.from({ length: 128 }, (_, i) => this.ask(i)))
    }
  }

  private async ask(i: number): Promise<void> {
    const user = i % 7 === 0 ? 'nobody-U' : `${i % KEYS}-U`
    const item = `${(i * 31) % KEYS}-I`
    const answer = await this.client.predictWithEnvelope('ALS_MODEL', user, item, {
      coldLeft: 'MEAN-U',
      coldRight: 'MEAN-I',
    })
    if (!answer.ok) {
      this.failures.push(answer.error)
      return
    }
    this.answered++
    const { modelVersion } = answer.envelope
    this.versions.add(modelVersion)
    if (answer.value.score !== scoreOf(modelVersion)) {
      this.mixed.push({ score: answer.value.score, modelVersion, user, item })
    }
  }
}
