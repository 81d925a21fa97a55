import { afterAll, beforeAll, expect, it } from 'vitest'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import { inProcess } from '../../cli/command-here.ts'
import { until } from '../../run/until.ts'
import { type CommandProcess, weir } from '../cli/command-process.ts'
import { TestCluster } from './cluster-fixture.ts'

/** Ratings before each look at what was learned. */
const EACH = 200

let cluster: TestCluster
let lines: readonly string[]

beforeAll(async () => {
  cluster = await TestCluster.start()
  const ratings = [...generateRatings({ users: 100, items: 50, ratings: 3 * EACH, seed: 4 })]
  lines = ratings.map(({ user, item, rating }) => `${user},${item},${rating}`)
})

afterAll(async () => await cluster?.[Symbol.asyncDispose]())

/** `weir learn als` in the foreground. */
function learn(...flags: readonly string[]): CommandProcess {
  const often = ['-D', 'execution.checkpointing.interval=500ms', '-D', 'rest.enabled=false']
  const common = ['--port', '0', '--json', '--data-dir', cluster.folder]
  return weir(['learn', 'als', ...common, ...often, ...flags])
}

async function portOf(learning: CommandProcess): Promise<string> {
  const [, port = ''] = await learning.printed(/"started","port":(\d+)/)
  await learning.printed(/"event":"learning"/)
  return port
}

async function produce(part: number): Promise<void> {
  const text = lines.slice(part * EACH, (part + 1) * EACH).join('\n')
  const words = ['topic', 'produce', 'observations', '--data-dir', cluster.folder]
  expect(await inProcess(words, `${text}\n`)).toMatchObject({ code: 0 })
}

/** Ratings that the job has learned. */
async function learned(port: string): Promise<number> {
  const asked = ['query', 'LEARNING_ERROR', '1', '--values', '--port', port]
  const { stdout } = await inProcess(asked)
  return Number(/"ratings":(\d+),/.exec(stdout)?.[1] ?? 0)
}

async function hasLearned(ratings: number, port: string): Promise<void> {
  await until(`${ratings} ratings are learned`, async () => (await learned(port)) === ratings)
}

it('a job runs once in its folder, in the foreground or by the JobManager, and goes on where it was', async () => {
  await using first = learn()
  const port = await portOf(first)
  await produce(0)
  await hasLearned(EACH, port)

  const second = await learn('--quarantine', 'never-made').ended
  expect(second).toMatchObject({ code: 1, stdout: '' })
  const { error } = JSON.parse(second.stderr) as { error: { code: string; message: string } }
  expect(error.code).toBe('JOB_ALREADY_RUNNING')
  expect(error.message).toContain(`job "online-als" runs already: process ${first.pid} of host `)
  expect(error.message).toContain('--take-over')
  expect(error.message).toMatch(/since \d{4}-\d\d-\d\dT/)
  // A start that is refused changes nothing.
  const topics = await cluster.local('topic', 'list')
  expect(topics.stdout).not.toContain('never-made')
  const detached = await cluster.ask('learn', 'als', '-d')
  expect(detached).toMatchObject({ code: 1 })
  expect(detached.stderr).toContain(`process ${first.pid} of host`)
  expect(first.hasEnded).toBe(false)
  await produce(1)
  await hasLearned(2 * EACH, port)

  await using third = learn('--take-over')
  await hasLearned(2 * EACH, await portOf(third))
  expect(await first.ended).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('COORDINATOR_FENCED'),
  })
  third.signal('SIGKILL')
  await third.ended

  // A dead owner is followed at once. The job knows what it has learned, whoever starts it.
  const id = await cluster.submit('learn', 'als', '-D', 'execution.checkpointing.interval=500ms')
  await cluster.reaches(id, 'RUNNING')
  const info = await cluster.ask('info', id, '--json')
  const managed = `${(JSON.parse(info.stdout) as { 'query-port': number })['query-port']}`
  await hasLearned(2 * EACH, managed)
  await produce(2)
  await hasLearned(3 * EACH, managed)
  const beside = await learn().ended
  expect(beside.stderr).toContain(`process ${await cluster.jobPid(id)} of host`)
  expect((await cluster.ask('stop', id)).code).toBe(0)

  await using last = learn()
  await hasLearned(3 * EACH, await portOf(last))
  last.signal('SIGINT')
  expect(await last.ended).toMatchObject({ code: 0 })
})

it('a job that is submitted with a savepoint begins there, though its folder has newer checkpoints', async () => {
  const id = await cluster.submit('learn', 'als')
  await cluster.reaches(id, 'RUNNING')
  const stopped = await cluster.ask('stop', id)
  const [, path = ''] = /Path: (file:\S+)$/m.exec(stopped.stdout) ?? []
  await using newer = learn()
  const port = await portOf(newer)
  // What it has learned is served some time after the start: a number of its first moments would be that of no rating.
  await hasLearned(3 * EACH, port)
  await produce(0)
  await hasLearned(4 * EACH, port)
  newer.signal('SIGINT')
  await newer.ended

  const restored = await cluster.submit('learn', 'als', '-s', path)
  await cluster.reaches(restored, 'RUNNING')
  expect(await cluster.read<object>(`/jobs/${restored}/checkpoints`)).toMatchObject({
    latest: { restored: { is_savepoint: true, external_path: path } },
  })
  // Another process of the same submission goes on from the job's own checkpoint.
  expect((await cluster.ask('checkpoint', restored)).code).toBe(0)
  const pid = await cluster.jobPid(restored)
  process.kill(pid, 'SIGKILL')
  // While no process runs the job, there is no answer.
  type Checkpoints = { latest?: { restored: { is_savepoint: boolean } | null } }
  await until('it goes on from its checkpoint', async () => {
    const { latest } = await cluster.read<Checkpoints>(`/jobs/${restored}/checkpoints`)
    return latest?.restored?.is_savepoint === false
  })
  await cluster.reaches(restored, 'RUNNING')
  expect(await cluster.jobPid(restored)).not.toBe(pid)
})

it('a model is retrained by one loop of a folder at a time', async () => {
  const topic = await cluster.local('topic', 'create', 'ratings', '--partitions', '1')
  expect(topic.code).toBe(0)
  const loop = (...flags: readonly string[]): CommandProcess => {
    const triggers = ['--no-serving', '--count', '1000000', '--observations', 'ratings']
    return weir([
      'retrain',
      ...triggers,
      '--forget-learned',
      '--data-dir',
      cluster.folder,
      ...flags,
    ])
  }
  await using first = loop()
  await first.printed(/waiting for a trigger/)
  const second = await loop().ended
  expect(second.code).toBe(1)
  expect(second.stderr).toContain(`"retrain als-model" runs already: process ${first.pid} of host`)
  await using third = loop('--take-over')
  await third.printed(/waiting for a trigger/)
  expect(await first.ended).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('COORDINATOR_FENCED'),
  })
  third.signal('SIGINT')
  expect(await third.ended).toMatchObject({ code: 0 })
})
