import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { exportedRows } from '../../combinations/exported-rows.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { until } from '../../run/until.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { LearningCluster, RATINGS } from '../jobmanager/learning-cluster.ts'

/** No write-back comes between the start and the end. */
const WRITE_BACK = ['--write-back', '86400']

async function start(): Promise<LearningCluster> {
  const learning = await LearningCluster.start(...WRITE_BACK)
  onTestFinished(() => learning[Symbol.asyncDispose]())
  return learning
}

/** The rows of the live version in the topic of the model, as an export has them. */
async function topicRows({ cluster }: LearningCluster): Promise<Map<string, number[]>> {
  const file = join(cluster.folder, 'exported')
  const { code, stderr } = await cluster.local('model', 'export', 'live', file)
  expect(code, stderr).toBe(0)
  return new Map([...exportedRows(file)].map(([key, row]) => [key, [...row]]))
}

/** What a job serves after it has learned; mean rows are not in a topic. */
async function servedRows(learning: LearningCluster): Promise<Map<string, number[]>> {
  await learning.rate(RATINGS.slice(0, 200))
  const { rows } = await learning.settled()
  const own = [...rows].filter(([key]) => !key.startsWith('MEAN-'))
  return new Map(own.map(([key, row]) => [key, row.map(Math.fround)]))
}

async function ask(learning: LearningCluster, ...words: readonly string[]): Promise<void> {
  const { code, stderr } = await learning.cluster.ask(...words)
  expect([code, stderr]).toEqual([0, ''])
}

const untilGone = async ({ cluster }: LearningCluster): Promise<void> => {
  await until('no JobManager runs', async () => {
    const { code } = await cluster.local('cluster', 'status')
    return code === 1
  })
}

/** By the way in which a job ends, or its process does, how it is ended. */
const ENDS: Readonly<Record<string, (learning: LearningCluster) => Promise<void>>> = {
  'weir stop': (learning) => ask(learning, 'stop', learning.job),
  'weir stop --drain': (learning) => ask(learning, 'stop', learning.job, '--drain'),
  'weir rescale': (learning) => ask(learning, 'rescale', learning.job, '--parallelism', '3'),
  async 'weir cluster stop'(learning) {
    const { code, stderr } = await learning.cluster.local('cluster', 'stop')
    expect(code, stderr).toBe(0)
  },
  async 'SIGTERM of the JobManager'(learning) {
    process.kill(learning.cluster.pid, 'SIGTERM')
    await untilGone(learning)
  },
}

/** The short part has every second end, by the seed. */
const CHOSEN = Object.entries(ENDS).filter((_, n) => campaignSize(n % 2 === commitSeed() % 2, true))

it.each(CHOSEN)('%s writes back what the job has learned', async (_, end) => {
  const learning = await start()
  const published = await topicRows(learning)
  const served = await servedRows(learning)
  expect(served).not.toEqual(published)
  await end(learning)
  const written = await topicRows(learning)
  expect([...written.keys()].sort()).toEqual([...served.keys()].sort())
  for (const [key, row] of served) expect(written.get(key), key).toEqual(row)
})

it('weir cancel writes nothing back, and the log of the job says so', async () => {
  const learning = await start()
  const published = await topicRows(learning)
  await servedRows(learning)
  await ask(learning, 'cancel', learning.job)
  expect(await topicRows(learning)).toEqual(published)
  expect(await learning.log()).toContain(
    'the job is CANCELED: what it learned since the last write-back is not in topic als-model',
  )
})
