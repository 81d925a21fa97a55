import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { scanTopic } from '../../../src/connectors/topics/scan.ts'
import type { TopicProducer } from '../../../src/connectors/topics/store.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { encodeFactors } from '../../../src/models/als/row.ts'
import { type PublishableRow, publishModel } from '../../../src/models/publish/model.ts'
import {
  encodeMarker,
  isMarkerKey,
  type ModelVersionMarker,
  markerKey,
} from '../../../src/models/registry/version-marker.ts'
import { machineProcesses } from '../../../src/models/topic/publication.ts'
import { rowPartition } from '../../../src/models/topic/row-partition.ts'
import { ModelAdministration } from '../../../src/models/versions/model-administration.ts'
import { ModelRegistry } from '../../../src/models/versions/model-registry.ts'

export const MODEL = 'als-model'
const PARTITIONS = 2
const facts = { name: 'ALS_MODEL', biased: false, globalMean: 0, hyperparameters: {}, metrics: {} }

/** The publication of a process of this machine that has ended. */
export const GONE = `${machineProcesses.machine}/99999999-1/1`

/** A model topic with its registry in a folder of its own. */
export class ModelFolder implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'weir-retention-'))
  readonly topics: LogTopics
  readonly registry: ModelRegistry
  readonly administration: ModelAdministration

  constructor(topics: (folder: string) => LogTopics = (folder) => new LogTopics(folder)) {
    const log = join(this.folder, 'log')
    this.topics = topics(log)
    const place = { logDirectory: join(this.folder, 'registry') }
    this.registry = new ModelRegistry({ place, clock: systemClock })
    this.administration = new ModelAdministration({
      ...{ registry: this.registry, place: { logDirectory: log }, model: MODEL },
      clock: systemClock,
    })
  }

  /** Publishes users 1 to `count` as a version, and registers it unless it is to be `unregistered`. */
  publish(
    count: number,
    {
      version,
      rows,
      unregistered,
    }: {
      readonly version?: number
      readonly rows?: () => AsyncIterable<PublishableRow>
      readonly unregistered?: boolean
    } = {},
  ): Promise<number> {
    const model = { dimension: 1, users: count, items: 0, rows: rows ?? (() => usersOf(count)) }
    const choice = version === undefined ? {} : { version }
    const registered = unregistered === true ? {} : { registry: this.registry }
    return publishModel(model, {
      ...{ log: this.topics, topic: MODEL, facts, clock: systemClock, partitions: PARTITIONS },
      ...choice,
      ...registered,
    })
  }

  /** Writes what a process that was killed has left: a marker in each partition, and users 1 to `count`. */
  async leave(count: number, marker: Partial<ModelVersionMarker> & { readonly version: number }) {
    const producer = await this.topics.producer(MODEL)
    const value = encodeMarker({
      ...{ event: 'announce', dimension: 1, users: count, items: 0, partitions: PARTITIONS },
      ...facts,
      ...marker,
    })
    for (let partition = 0; partition < PARTITIONS; partition++) {
      producer.sendRecord(Buffer.from(markerKey(marker.version)), value, Date.now(), partition, [])
    }
    this.sendUsers(producer, count, marker.version)
    await producer.sync()
    await producer.close()
  }

  /** Keys of the rows that the topic has, in order. */
  async rows(): Promise<readonly string[]> {
    const rows = new Set<string>()
    await scanTopic(this.topics, MODEL, (record) => {
      const key = Buffer.from(record.key()!).toString()
      if (isMarkerKey(record.key()!)) return true
      if (record.value() === null) rows.delete(key)
      else rows.add(key)
      return true
    })
    return [...rows].sort()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.topics[Symbol.asyncDispose]()
    rmSync(this.folder, { recursive: true, force: true })
  }

  private sendUsers(producer: TopicProducer, count: number, version: number): void {
    for (let user = 1; user <= count; user++) {
      const key = Buffer.from(`${user}-U@${version}`)
      const row = encodeFactors(Float32Array.of(user))
      producer.sendRecord(key, row, Date.now(), rowPartition(`${user}-U`, PARTITIONS), [])
    }
  }
}

async function* usersOf(count: number): AsyncGenerator<PublishableRow> {
  for (let user = 1; user <= count; user++) {
    yield { id: String(user), kind: 'U', vector: Float32Array.of(user) }
  }
}
