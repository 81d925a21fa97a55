import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { publishModel } from '../../../src/models/publish/model.ts'
import { ManualClock } from '../../../src/testing/index.ts'

it('a version with rows of another length than those of the topic is not published', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-dimension-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  await using topics = new LogTopics(folder)
  const publish = (dimension: number): Promise<number> =>
    publishModel(
      {
        ...{ dimension, users: 1, items: 0 },
        rows: () => [{ id: '1', kind: 'U', vector: new Float32Array(dimension) }],
      },
      {
        ...{ log: topics, topic: 'model', clock: new ManualClock() },
        facts: {
          ...{ name: 'ALS_MODEL', biased: false, globalMean: 0 },
          ...{ hyperparameters: {}, metrics: {} },
        },
      },
    )
  expect(await publish(4)).toBe(1)
  await expect(publish(6)).rejects.toThrow(/DIMENSION_MISMATCH|rows of 4 floats/)
  expect(await publish(4)).toBe(2)
})
