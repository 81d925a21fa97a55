import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { dataDirectory } from '../../../src/jobs/serve/data-directory.ts'
import { learnAlsJob } from '../../../src/jobs/serve/learning-als.ts'

it.each([
  ['refused ratings among the observations', { observations: 'ratings', quarantine: 'ratings' }],
  ['refused ratings among the rows', { observations: 'ratings', quarantine: 'm' }],
  ['observations among the rows', { observations: 'm' }],
  ['observations among the deltas', { observations: 'm-deltas' }],
])('a learner does not start with %s, which it would read again without end', async (_, job) => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-learning-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const data = dataDirectory(folder)
  const started = learnAlsJob({
    job,
    data,
    topic: 'm',
    slots: 1,
    queryThreads: 1,
    port: 0,
    configuration: {},
    onLive: () => {},
  })
  await expect(started).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('is named for two purposes'),
  })
  await using topics = new LogTopics(data.log)
  expect(await topics.topics()).toEqual([])
})
