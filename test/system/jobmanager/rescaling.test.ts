import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasTitle } from '../../../src/cluster/jobmanager/process/left-over.ts'
import { pause } from '../../run/pause.ts'
import { TestCluster } from './cluster-fixture.ts'
import { type Learned, LearningCluster, RATINGS } from './learning-cluster.ts'

function expectSame(found: Learned, expected: Learned): void {
  expect([...found.rows.keys()]).toEqual([...expected.rows.keys()])
  for (const [key, row] of found.rows) {
    for (const [i, value] of row.entries()) {
      expect(value, key).toBeCloseTo(expected.rows.get(key)![i]!, 5)
    }
  }
}

describe('rescaling a job that learns', () => {
  let learning: LearningCluster

  beforeAll(async () => {
    learning = await LearningCluster.start()
  })

  afterAll(async () => await learning?.[Symbol.asyncDispose]())

  it('loses no rating and counts none twice, with more slots and with fewer', async () => {
    const { cluster, job } = learning
    await learning.rate(RATINGS.slice(0, 200))
    for (const [i, slots] of ['3', '1'].entries()) {
      // Ratings come while the job takes its last checkpoint, is away, and restores.
      const rescaled = cluster.ask('rescale', job.slice(0, 8), '--parallelism', slots)
      for (let at = 200 + 300 * i; at < 500 + 300 * i; at += 10) {
        await learning.rate(RATINGS.slice(at, at + 10))
        await pause(50, 'ratings come over the time of a rescaling')
      }
      const { code, stdout, stderr } = await rescaled
      expect([code, stderr]).toEqual([0, ''])
      expect(stdout).toContain(`Rescaled job ${job}. Its new parallelism is ${slots}.`)
      expect(Math.max(...(await learning.parallelism()))).toBe(Number(slots))
    }
    const found = await learning.settled()
    expect(await learning.ratingsWithDelta()).toBe(RATINGS.length)
    await using other = await LearningCluster.start()
    await other.rate(RATINGS)
    expectSame(found, await other.settled())
  })

  it('keeps rows and positions where no rating comes', async () => {
    const { cluster, job } = learning
    const before = await learning.settled()
    const wanted = Math.max(...(await learning.parallelism())) === 2 ? 3 : 2
    const { 'request-id': id } = await cluster.send<{ readonly 'request-id': string }>(
      'PATCH',
      `/jobs/${job}/rescaling?parallelism=${wanted}`,
    )
    await expect
      .poll(() => cluster.read(`/jobs/${job}/rescaling/${id}`))
      .toEqual({ status: { id: 'COMPLETED' }, operation: {} })
    expect(Math.max(...(await learning.parallelism()))).toBe(wanted)
    const after = await learning.settled()
    expect([[...after.rows], after.positions]).toEqual([[...before.rows], before.positions])
  })

  it('is the same for requirements that have every vertex', async () => {
    const { cluster, job } = learning
    // With one slot, a vertex whose parallelism is fixed looks like any other.
    expect(await cluster.ask('rescale', job, '-p', '2')).toMatchObject({ code: 0 })
    const path = `/jobs/${job}/resource-requirements`
    type Bounds = Record<string, { parallelism: { lowerBound: number; upperBound: number } }>
    const requirements = await cluster.read<Bounds>(path)
    for (const { parallelism } of Object.values(requirements)) {
      if (parallelism.lowerBound < parallelism.upperBound) parallelism.upperBound = 3
    }
    expect(await cluster.send('PUT', path, requirements)).toEqual({})
    expect(Math.max(...(await learning.parallelism()))).toBe(3)
  })

  it('is refused above the max parallelism, and the job goes on in the same process', async () => {
    const { cluster, job } = learning
    const pid = await cluster.jobPid(job)
    const refused = await cluster.ask('rescale', job, '-p', '200')
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringMatching(/INVALID_ARGUMENT: .*max parallelism 128/),
    ])
    expect(await cluster.jobPid(job)).toBe(pid)
    await cluster.reaches(job, 'RUNNING')
  })
})

describe('rescaling', () => {
  let cluster: TestCluster

  beforeAll(async () => {
    cluster = await TestCluster.start()
  })

  afterAll(async () => await cluster?.[Symbol.asyncDispose]())

  it('is finished by the next JobManager where the first one is killed meanwhile', async () => {
    const job = await cluster.submit('run', 'als-serving', '--slots', '1', '--port', '0')
    await cluster.reaches(job, 'RUNNING')
    const pid = await cluster.jobPid(job)
    await cluster.send('PATCH', `/jobs/${job}/rescaling?parallelism=2`)
    // The process of the job ends when the record with the new parallelism is stored.
    await expect.poll(() => hasTitle(pid, 'weir'), { interval: 5 }).toBe(false)
    process.kill(cluster.pid, 'SIGKILL')
    await expect.poll(async () => (await cluster.local('cluster', 'status')).code).toBe(1)
    await cluster.startJobManager()
    await cluster.reaches(job, 'RUNNING')
    const { vertices } = await cluster.read<{ vertices: { parallelism: number }[] }>(`/jobs/${job}`)
    expect(Math.max(...vertices.map(({ parallelism }) => parallelism))).toBe(2)
    expect((await cluster.ask('cancel', job)).code).toBe(0)
  })

  it('leaves a job that does not start with the new parallelism with the one that it had', async () => {
    const slots = ['--slots', '2', '-D', 'taskmanager.numberOfTaskSlots=2', '--port', '0']
    const job = await cluster.submit('run', 'als-serving', ...slots)
    await cluster.reaches(job, 'RUNNING')
    const refused = await cluster.ask('rescale', job, '--parallelism', '3')
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringMatching(/INVALID_ARGUMENT: .*numberOfTaskSlots/),
    ])
    await cluster.reaches(job, 'RUNNING')
    expect((await cluster.ask('info', job)).stdout).toContain('RUNNING')
    expect((await cluster.ask('cancel', job)).code).toBe(0)
    const ended = await cluster.ask('rescale', job, '--parallelism', '1')
    expect([ended.code, ended.stderr]).toEqual([1, expect.stringContaining('ILLEGAL_STATE')])
  })
})
