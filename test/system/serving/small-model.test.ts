import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { WeirClient } from '../../../src/client/weir-client.ts'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { serveAlsJob } from '../../../src/jobs/serve/als.ts'
import { dataDirectory } from '../../../src/jobs/serve/data-directory.ts'
import type { ServedJob } from '../../../src/jobs/served-job.ts'
import { alsKey, MEAN_IF_UNKNOWN } from '../../../src/models/als/row-key.ts'
import { publishModel } from '../../../src/models/publish/model.ts'
import { ALS_MODEL } from '../../../src/models/topic/als-serving-function.ts'
import { until } from '../../run/until.ts'

const USERS = Array.from({ length: 30 }, (_, n) => `stranger${n}`)

/** Serves the model, whose only rows are of one user and one item, on three slots. */
async function serve(root: string): Promise<ServedJob> {
  const live = vi.fn()
  const job = await serveAlsJob({
    data: dataDirectory(root),
    topic: 'small',
    slots: 3,
    queryThreads: 1,
    port: 0,
    configuration: {},
    onLive: live,
  })
  await until('the model is live', () => live.mock.calls.length > 0)
  return job
}

it('a slot without a row of a model knows that its users are unknown, also after a restart', async () => {
  const root = mkdtempSync(join(tmpdir(), 'weir-small-model-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  await using topics = new LogTopics(dataDirectory(root).log)
  await publishModel(
    {
      dimension: 2,
      users: 1,
      items: 1,
      rows: () => [
        { id: 'u', kind: 'U', vector: Float32Array.of(1, 0) },
        { id: 'i', kind: 'I', vector: Float32Array.of(2.5, 0) },
      ],
    },
    {
      log: topics,
      topic: 'small',
      version: 1,
      clock: systemClock,
      facts: { name: ALS_MODEL, biased: false, globalMean: 0, hyperparameters: {}, metrics: {} },
    },
  )
  for (const start of ['first', 'second']) {
    await using job = await serve(root)
    await using client = await WeirClient.connect({ port: job.port, deadlineMs: 60_000 })
    const scores = USERS.map((user) =>
      client.predict(ALS_MODEL, alsKey(user, 'U'), alsKey(user, 'I'), MEAN_IF_UNKNOWN),
    )
    const cold = { score: 2.5, leftCold: true, rightCold: true }
    expect({ start, scores: await Promise.all(scores) }).toMatchObject({
      start,
      scores: USERS.map(() => cold),
    })
    const rows = await client.rows(
      ALS_MODEL,
      USERS.map((user) => alsKey(user, 'U')),
    )
    expect(rows).toMatchObject(USERS.map(() => ({ ok: false, error: { code: 'UNKNOWN_KEY' } })))
  }
})
