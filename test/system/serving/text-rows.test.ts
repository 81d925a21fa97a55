import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { WeirClient } from '../../../src/client/weir-client.ts'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { serveAlsJob } from '../../../src/jobs/serve/als.ts'
import { dataDirectory } from '../../../src/jobs/serve/data-directory.ts'
import { openModelFile } from '../../../src/models/publish/file-io.ts'
import { publishModel } from '../../../src/models/publish/model.ts'
import { exportVersion } from '../../../src/models/publish/transfer.ts'
import { ALS_MODEL } from '../../../src/models/topic/als-serving-function.ts'
import { ModelRegistry } from '../../../src/models/versions/model-registry.ts'
import { until } from '../../run/until.ts'

const TOPIC = 'als-model'

/** Four floats whose 16 bytes are the text of a row. */
const LIKE_TEXT = new Float32Array(Uint8Array.from(Buffer.from('8,I,0.5;1.5;2;-1')).buffer)

it('text rows are served and exported beside rows of floats, also those of the same length', async () => {
  const root = mkdtempSync(join(tmpdir(), 'weir-text-rows-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const data = dataDirectory(root)
  await using topics = new LogTopics(data.log)
  const registry = new ModelRegistry({
    place: { logDirectory: join(root, 'registry') },
    clock: systemClock,
  })
  const facts = { name: ALS_MODEL, biased: false, globalMean: 0, hyperparameters: {}, metrics: {} }
  await publishModel(
    {
      ...{ dimension: 4, users: 1, items: 2 },
      rows: () => [
        { id: '7', kind: 'U', vector: Float32Array.of(1, 1, 1, 1) },
        { id: '7', kind: 'I', vector: Float32Array.of(1, 2, 3, 4) },
        { id: '8', kind: 'I', vector: LIKE_TEXT },
      ],
    },
    { log: topics, topic: TOPIC, clock: systemClock, facts, registry },
  )
  const producer = await topics.producer(TOPIC)
  const send = (key: string, value: string): void =>
    producer.sendRecord(Buffer.from(key), Buffer.from(value), Date.now(), 0, [])
  // As long as a row of four floats.
  send('1-U@1', '1,U,0.5;1.5;2;-1')
  send('any key', '1,I,1.5;2;0.5;0')
  await producer.sync()
  await producer.close()

  const warnings: string[] = []
  const live: number[] = []
  await using job = await serveAlsJob({
    ...{ data, topic: TOPIC, slots: 2, queryThreads: 1, port: 0, configuration: {} },
    onLive: (version) => live.push(version),
    onWarning: (warning) => warnings.push(warning),
  })
  await until('the model is live', () => live.length > 0)
  await using client = await WeirClient.connect({ port: job.port, deadlineMs: 60_000 })
  const score = async (user: string, item: string): Promise<number> =>
    (await client.predict(ALS_MODEL, `${user}-U`, `${item}-I`)).score
  const rows = async (): Promise<boolean> =>
    (await client.rows(ALS_MODEL, ['1-U', '1-I'])).every(({ ok }) => ok)
  await until('the text rows are served', rows)
  expect([await score('1', '1'), await score('1', '7'), await score('7', '7')]).toEqual([
    0.5 * 1.5 + 1.5 * 2 + 2 * 0.5,
    0.5 * 1 + 1.5 * 2 + 2 * 3 - 4,
    1 + 2 + 3 + 4,
  ])
  expect(await score('7', '8')).toBeCloseTo(
    LIKE_TEXT.reduce((sum, value) => sum + value, 0),
    6,
  )
  expect(warnings).toEqual([expect.stringContaining('is read as a text row, though')])

  const version = (await registry.read()).versions.get(TOPIC)!.get(1)!
  const file = join(root, 'v1.weirmodel')
  expect(await exportVersion(topics, version, file)).toBe(5)
  const exported: Record<string, number[]> = {}
  for await (const { key, vector } of (await openModelFile(file)).rows())
    exported[key] = [...vector]
  expect(exported).toMatchObject({ '1-U': [0.5, 1.5, 2, -1], '1-I': [1.5, 2, 0.5, 0] })
  expect(exported['8-I']).toEqual([...LIKE_TEXT])
})
