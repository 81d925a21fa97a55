import { describe, expect, it, onTestFinished } from 'vitest'
import { KafkaSink, type KafkaSinkOptions } from '../../../src/connectors/kafka/sink.ts'
import { systemClock } from '../../../src/core/clock.ts'
import type { WeirError } from '../../../src/core/errors.ts'
import { MetricGroup } from '../../../src/core/metrics.ts'
import type { DeliveryGuarantee } from '../../../src/operators/port/sink.ts'
import { sharedKafka } from '../../services/lending/kafka.ts'
import { bytes, newTopic, readAll, text } from './fixture.ts'

const broker = await sharedKafka()
const client = { brokers: broker.bootstrap }

/** A value whose event is two hours ahead; the topic takes one hour. */
const isAhead = (value: string): boolean => value.startsWith('ahead')
const HOUR_MS = 3_600_000
const HOUR = { 'message.timestamp.after.max.ms': String(HOUR_MS) }

interface Trial extends Partial<KafkaSinkOptions<string>> {
  readonly topic: string
  readonly guarantee: DeliveryGuarantee
}

/** A sink with what it warned of and counted; `checkpoint` prepares and commits what was written. */
async function openSink(trial: Trial) {
  const warned: WeirError[] = []
  const metrics = new MetricGroup()
  const writer = new KafkaSink<string>({
    ...client,
    serialize: (value, record) => {
      record.key = bytes(value.slice(0, 1))
      record.value = bytes(value)
      record.timestamp = Date.now() + (isAhead(value) ? 2 * HOUR_MS : 0)
    },
    ...trial,
  }).createWriter()
  onTestFinished(() => writer.close().catch(() => undefined))
  await writer.open(
    {
      ...{ jobName: trial.topic, operatorUid: 'sink', subtask: 0, parallelism: 1, attempt: 1 },
      ...{ clock: systemClock, metrics, warn: (warning) => warned.push(warning) },
    },
    [],
  )
  let checkpoints = 0
  const checkpoint = async (): Promise<void> => {
    await writer.commit(await writer.prepareCommit(++checkpoints))
  }
  const refused = (): number => metrics.snapshot()['numRecordsUnwritable'] ?? 0
  return { writer, checkpoint, refused, warned }
}

const valuesOf = async (topic: string): Promise<string[]> =>
  (await readAll({ ...client, topic })).map(({ value }) => text(value))

describe.each(['at-least-once', 'exactly-once'] as const)(
  'a record that the topic of a sink refuses, %s',
  (guarantee) => {
    it('is left out and counted with "skip"; all others are written once and in their order', async () => {
      const topic = await newTopic(client, { configs: HOUR })
      const sink = await openSink({ topic, guarantee, unwritable: 'skip', batchBytes: 400 })
      const expected: string[] = []
      for (let round = 0; round < 3; round++) {
        for (let i = 0; i < 50; i++) {
          const value = i % 17 === 5 ? `ahead-${round}-${i}` : `v-${round}-${i}`
          if (!isAhead(value)) expected.push(value)
          sink.writer.write(value, 0)
        }
        await sink.checkpoint()
      }
      expect(await valuesOf(topic)).toEqual(expected)
      expect(sink.refused()).toBe(9)
      expect(sink.warned.map(({ code }) => code)).toEqual(['RECORD_REFUSED'])
    })

    it('is in the dead letter topic with its value, time and reason before a checkpoint counts', async () => {
      const topic = await newTopic(client, { configs: HOUR })
      const deadLetterTopic = await newTopic(client)
      const unwritable = { deadLetterTopic }
      const sink = await openSink({ topic, guarantee, unwritable })
      for (const value of ['a', 'ahead', 'b']) sink.writer.write(value, 0)
      await sink.writer.prepareCommit(1)
      const [letter, ...more] = await readAll({ ...client, topic: deadLetterTopic })
      expect([text(letter!.value), text(letter!.key), more]).toEqual(['ahead', 'a', []])
      const headers = Object.fromEntries(
        letter!.headers.map(({ key, value }) => [key, text(value)]),
      )
      expect(headers).toMatchObject({
        'weir-refused-by': topic,
        'weir-code': 'RECORD_REFUSED',
        'weir-reason': expect.stringContaining('INVALID_TIMESTAMP'),
      })
      expect(Number(headers['weir-timestamp'])).toBeGreaterThan(Date.now() + HOUR_MS)
    })

    it('ends the job by default, with record, time and setting', async () => {
      const topic = await newTopic(client, { configs: HOUR })
      const sink = await openSink({ topic, guarantee })
      for (const value of ['a', 'ahead', 'b']) sink.writer.write(value, 0)
      await expect(sink.writer.prepareCommit(1)).rejects.toMatchObject({
        code: 'RECORD_REFUSED',
        message: expect.stringMatching(
          /key "a" and the time \d{4}-.*INVALID_TIMESTAMP.*message\.timestamp\.after\.max\.ms=3600000.*unwritable/,
        ),
        details: { topic, partition: 0, key: 'key "a"' },
      })
    })
  },
)

describe('other records that a topic refuses', () => {
  it('are those without a key in a compacted topic, and those that are too large', async () => {
    const compacted = await newTopic(client, { configs: { 'cleanup.policy': 'compact' } })
    const small = await newTopic(client, { configs: { 'max.message.bytes': '2000' } })
    const withoutKey = await openSink({
      ...{ topic: compacted, guarantee: 'at-least-once', unwritable: 'skip' },
      serialize: (value, record) => {
        record.key = value === 'none' ? null : bytes(value)
        record.value = bytes(value)
      },
    })
    for (const value of ['a', 'none', 'b']) withoutKey.writer.write(value, Date.now())
    await withoutKey.checkpoint()
    expect([await valuesOf(compacted), withoutKey.refused()]).toEqual([['a', 'b'], 1])
    expect(withoutKey.warned[0]!.message).toMatch(/INVALID_RECORD.*cleanup\.policy=compact/)

    const tooLarge = await openSink({
      ...{ topic: small, guarantee: 'exactly-once', unwritable: 'skip' },
    })
    for (const value of ['a', 'x'.repeat(5_000), 'b']) tooLarge.writer.write(value, 0)
    await tooLarge.checkpoint()
    expect([await valuesOf(small), tooLarge.refused()]).toEqual([['a', 'b'], 1])
  })
})
