import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { publishModel } from '../../../src/models/publish/model.ts'
import { readyVersions } from '../../../src/models/versions/model-versions.ts'
import { ManualClock } from '../../../src/testing/index.ts'

/** A topic, and how versions of a kind and a length are published to it. */
function publisher() {
  const folder = mkdtempSync(join(tmpdir(), 'weir-dimension-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const topics = new LogTopics(folder)
  onTestFinished(() => topics[Symbol.asyncDispose]())
  const publish = (
    kind: 'U' | 'W',
    dimension: number,
    choice: { version?: number; overwrite?: boolean } = {},
  ): Promise<number> =>
    publishModel(
      {
        ...(kind === 'U' ? { users: 1, items: 0 } : { users: 0, items: 1 }),
        dimension,
        rows: () => [{ id: '1', kind, vector: new Float32Array(dimension) }],
      },
      {
        ...{ log: topics, topic: 'model', clock: new ManualClock(), ...choice },
        facts: {
          ...{ name: 'MODEL', biased: false, globalMean: 0 },
          ...{ hyperparameters: {}, metrics: {} },
        },
      },
    )
  return { topics, publish }
}

it('each version of factors has rows of its own length', async () => {
  const { topics, publish } = publisher()
  expect([await publish('U', 4), await publish('U', 6), await publish('U', 4)]).toEqual([1, 2, 3])
  const lengths = (await readyVersions(topics, 'model')).map(({ dimension }) => dimension)
  expect(lengths).toEqual([4, 6, 4])
})

it('a version is not replaced by one with rows of another length, which jobs may be serving', async () => {
  const { topics, publish } = publisher()
  await publish('U', 4)
  await expect(publish('U', 6, { version: 1, overwrite: true })).rejects.toMatchObject({
    code: 'DIMENSION_MISMATCH',
    message: expect.stringMatching(/version 1 .* rows of 4 floats.*rows of 6.*a new number/),
  })
  expect(await publish('U', 4, { version: 1, overwrite: true })).toBe(1)
  expect(await readyVersions(topics, 'model')).toMatchObject([{ version: 1, dimension: 4 }])
})

it('all versions of weights have blocks of one length, and no factors beside them', async () => {
  const { topics, publish } = publisher()
  expect(await publish('W', 4)).toBe(1)
  await expect(publish('W', 6)).rejects.toMatchObject({ code: 'DIMENSION_MISMATCH' })
  await expect(publish('U', 4)).rejects.toMatchObject({
    code: 'DIMENSION_MISMATCH',
    message: expect.stringContaining('weights of a linear model'),
  })
  expect(await publish('W', 4)).toBe(2)
  expect(await readyVersions(topics, 'model')).toHaveLength(2)
})
