import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { serveAlsJob } from '../../../src/jobs/serve/als.ts'
import { dataDirectory } from '../../../src/jobs/serve/data-directory.ts'
import { serveHistories } from '../../../src/jobs/serve/histories.ts'
import { learnAlsJob } from '../../../src/jobs/serve/learning-als.ts'
import type { ServeModelOptions } from '../../../src/jobs/serve/model.ts'
import { serveSvmJob } from '../../../src/jobs/serve/svm.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-settings-'))
})

afterEach(() => rmSync(folder, { recursive: true }))

/** The start of each job that reads topics, with the settings of `wrong`; none of the topics exists. */
function starts(wrong: Partial<Pick<ServeModelOptions, 'configuration' | 'access'>>) {
  const data = dataDirectory(folder)
  const options: ServeModelOptions = {
    ...{ data, topic: 'als-model', slots: 1, queryThreads: 1, port: 0, onLive: () => {} },
    configuration: {},
    ...wrong,
  }
  const { configuration } = options
  return {
    als: () => serveAlsJob(options),
    svm: () => serveSvmJob(options),
    learning: () => learnAlsJob({ ...options, job: { observations: 'ratings' } }),
    histories: () =>
      serveHistories({
        ...{ place: { logDirectory: data.log }, observations: 'ratings', configuration },
        ...wrong.access,
      }),
  }
}

it.each([
  [
    'heartbeat.timeout=0',
    { configuration: { 'heartbeat.timeout': '0' } },
    'heartbeat.timeout: "0"',
  ],
  ['two that contradict', { configuration: { 'heartbeat.timeout': '1 s' } }, 'heartbeat.interval'],
  [
    'a place that is none',
    { configuration: { 'execution.checkpointing.dir': 'gopher://x' } },
    'execution.checkpointing.dir: "gopher://x": use a path',
  ],
  ['a port for everyone', { access: { host: '0.0.0.0' } }, 'without TLS and tokens'],
  ['tokens that are missing', { access: { tokensFile: '/no/tokens.json' } }, '/no/tokens.json'],
])('%s is refused before a topic is asked for or created', async (_, wrong, says) => {
  for (const [job, start] of Object.entries(starts(wrong))) {
    await expect(start(), job).rejects.toThrow(says)
  }
  expect(readdirSync(folder)).toEqual([])
})

it('a job without its model topic is refused, and creates no other topic', async () => {
  const { als, svm, learning } = starts({})
  for (const start of [als, svm, learning]) {
    await expect(start()).rejects.toMatchObject({ code: 'UNKNOWN_TOPIC' })
  }
  expect(
    readdirSync(folder, { recursive: true }).filter((name) => /ratings|deltas/.test(`${name}`)),
  ).toEqual([])
})
