import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { scanTopic } from '../../../src/connectors/topics/scan.ts'
import type { NewTopic, TopicStore } from '../../../src/connectors/topics/store.ts'

/** An embedded log that is removed when the test ends. */
export function newLog(): LogTopics {
  const directory = mkdtempSync(join(tmpdir(), 'weir-erasure-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const log = new LogTopics(directory)
  onTestFinished(() => log[Symbol.asyncDispose]())
  return log
}

/** The same topics as a Kafka has them: no record can be taken out alone. */
export const asKafka = (log: LogTopics): TopicStore =>
  Object.create(log, { stored: { value: undefined } })

/** A record to send. */
export interface Sent {
  readonly key?: string
  readonly value: string | Uint8Array | null
  readonly partition?: number
}

/** Creates a topic with some records, each durable before the next one. */
export async function fill(
  log: LogTopics,
  topic: string,
  records: readonly Sent[],
  config: NewTopic = {},
): Promise<void> {
  await log.create(topic, config)
  const producer = await log.producer(topic)
  for (const { key, value, partition = 0 } of records) {
    const bytes = typeof value === 'string' ? Buffer.from(value) : value
    producer.sendRecord(key === undefined ? null : Buffer.from(key), bytes, 1, partition, [])
    await producer.sync()
  }
  await producer.close()
}

/** The records of a topic as `partition:offset key=value`, sorted; a value that is missing is `-`. */
export async function recordsIn(topics: TopicStore, topic: string): Promise<readonly string[]> {
  const found: string[] = []
  await scanTopic(topics, topic, (record, partition) => {
    const [key, value] = [record.key(), record.value()].map((bytes) =>
      bytes === null ? '-' : Buffer.from(bytes).toString(),
    )
    found.push(`${partition}:${record.offset} ${key}=${value}`)
    return true
  })
  return found.toSorted()
}
