import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePorts } from '../../services/free-port.ts'
import { TestCluster } from './cluster-fixture.ts'

let cluster: TestCluster

beforeAll(async () => {
  cluster = await TestCluster.start()
})

afterAll(async () => await cluster?.[Symbol.asyncDispose]())

/** The port where a job answers queries, as `weir info` says it in words and in JSON. */
async function queryPortOf(jobId: string): Promise<number> {
  const [text, json] = await Promise.all([
    cluster.ask('info', jobId),
    cluster.ask('info', jobId, '--json'),
  ])
  const port = Number(/^ {2}queries on port (\d+)$/m.exec(text.stdout)?.[1])
  expect(JSON.parse(json.stdout)).toMatchObject({ jid: jobId, 'query-port': port })
  return port
}

describe('a JobManager', () => {
  it('runs jobs side by side, starts lost ones again, and continues them after its own crash', async () => {
    const first = await cluster.submit(
      'run',
      'als-serving',
      '-D',
      'execution.checkpointing.interval=500ms',
    )
    const second = await cluster.submit('run', 'als-serving', '--slots', '1')
    await Promise.all([cluster.reaches(first, 'RUNNING'), cluster.reaches(second, 'RUNNING')])

    const ports = await Promise.all([first, second].map(queryPortOf))
    expect(new Set(ports).size).toBe(2)

    const checkpoint = await cluster.ask('checkpoint', first)
    expect(checkpoint.stdout).toMatch(/^Checkpoint \d+ for job [0-9a-f]{32} completed\.$/m)
    process.kill(await cluster.jobPid(first), 'SIGKILL')
    const lost = { exceptionHistory: { entries: [{ exceptionName: 'JOB_PROCESS_LOST' }] } }
    await expect.poll(() => cluster.read(`/jobs/${first}/exceptions`)).toMatchObject(lost)
    await cluster.reaches(first, 'RUNNING')
    expect(await cluster.read(`/jobs/${first}/exceptions`)).toMatchObject(lost)
    const { latest } = await cluster.read<{ latest: { restored: { id: number } | null } }>(
      `/jobs/${first}/checkpoints`,
    )
    expect(latest.restored?.id).toBeGreaterThan(0)

    const before = await cluster.jobPid(second)
    process.kill(cluster.pid, 'SIGKILL')
    const status = async () => (await cluster.local('cluster', 'status')).code
    await expect.poll(status).toBe(1)
    await cluster.startJobManager()
    await Promise.all([cluster.reaches(first, 'RUNNING'), cluster.reaches(second, 'RUNNING')])
    expect(await cluster.jobPid(second)).not.toBe(before)

    const cancelled = await cluster.ask('cancel', second)
    expect(cancelled.stdout).toContain(`Cancelled job ${second}.`)
    await cluster.reaches(second, 'CANCELED')
    expect((await cluster.ask('info', second)).stdout).not.toContain('queries on port')
    const listed = await cluster.ask('list')
    expect(listed.stdout).toContain(`${first} : als-serving (RUNNING)`)
    expect(listed.stdout).not.toContain(second)
    const refused = await cluster.local('cluster', 'start')
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('ILLEGAL_STATE')])

    const stopped = await cluster.ask('stop', first.slice(0, 8))
    const path = /^Savepoint completed\. Path: (file:\S+)$/m.exec(stopped.stdout)![1]!
    await cluster.reaches(first, 'FINISHED')
    const resumed = await cluster.submit('run', 'als-serving', '-s', path)
    await cluster.reaches(resumed, 'RUNNING')
    expect(await cluster.read<object>(`/jobs/${resumed}/checkpoints`)).toMatchObject({
      latest: {
        restored: { is_savepoint: true, external_path: expect.stringMatching('savepoint-') },
      },
    })

    expect((await cluster.local('cluster', 'stop')).code).toBe(0)
    await cluster.startJobManager()
    await cluster.reaches(resumed, 'RUNNING')
    // Not from the savepoint that it was submitted with: what it did since would be lost.
    expect(await cluster.read<object>(`/jobs/${resumed}/checkpoints`)).toMatchObject({
      latest: {
        restored: { is_savepoint: false, external_path: expect.stringContaining(resumed) },
      },
    })
    const states = (await cluster.ask('list', '--all', '--json')).stdout.trim().split('\n')
    expect(states.map((line) => (JSON.parse(line) as { state: string }).state).sort()).toEqual([
      'CANCELED',
      'FINISHED',
      'RUNNING',
    ])
  })

  it('has ended a job when it says that the job is cancelled or stopped: the next one can have its port', async () => {
    const [port] = await freePorts(1)
    const submission = { job: 'als-serving', options: { slots: '1', port: String(port) } }
    const submit = async () =>
      (await cluster.send<{ jobid: string }>('POST', '/jobs', submission)).jobid
    await cluster.send('PATCH', `/jobs/${await submit()}?mode=cancel`)
    const second = await submit()
    await cluster.reaches(second, 'RUNNING')
    const stop = await cluster.send<{ 'request-id': string }>('POST', `/jobs/${second}/stop`, {})
    const stopped = () => cluster.read(`/jobs/${second}/savepoints/${stop['request-id']}`)
    await expect
      .poll(stopped, { interval: 1 })
      .toMatchObject({ status: { id: 'COMPLETED' }, operation: { location: expect.any(String) } })
    const third = await submit()
    await cluster.send('PATCH', `/jobs/${third}?mode=cancel`)
    expect(await cluster.read(`/jobs/${third}`)).toMatchObject({ state: 'CANCELED' })
  })

  it.each(['checkpoints', 'savepoints', 'stop'])(
    'does what was asked with "%s" of a job that still starts',
    async (operation) => {
      const submission = { job: 'als-serving', options: { slots: '1', port: '0' } }
      const { jobid } = await cluster.send<{ jobid: string }>('POST', '/jobs', submission)
      const { 'request-id': id } = await cluster.send<{ 'request-id': string }>(
        ...(['POST', `/jobs/${jobid}/${operation}`, {}] as const),
      )
      const results = operation === 'checkpoints' ? 'checkpoints' : 'savepoints'
      await expect
        .poll(() => cluster.read(`/jobs/${jobid}/${results}/${id}`))
        .toMatchObject({
          status: { id: 'COMPLETED' },
          operation: expect.not.objectContaining({ 'failure-cause': expect.anything() }),
        })
      if (operation !== 'stop') await cluster.send('PATCH', `/jobs/${jobid}?mode=cancel`)
    },
  )

  it('refuses what it cannot run, with the reason', async () => {
    const unknown = await cluster.ask('run', '-d', 'als-serving', '--topic', 'none')
    expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('UNKNOWN_TOPIC')])
    const module = await cluster.ask('run', '-d', 'test/fixtures/count-job.ts')
    expect([module.code, module.stderr]).toEqual([1, expect.stringContaining('ACCESS_DENIED')])
  })

  it('shows no file of its machine to others, calls no one and opens no port for a submission', async () => {
    let calls = 0
    const listener = createServer(() => {
      calls += 1
    }).listen(0, '127.0.0.1')
    await once(listener, 'listening')
    const brokers = `127.0.0.1:${(listener.address() as AddressInfo).port}`
    const sasl = { 'sasl-mechanism': 'PLAIN', 'sasl-username': 'u' }
    const attacks = [
      { brokers },
      { brokers, ...sasl, 'sasl-password-file': '/etc/passwd' },
      { 'token-file': '/etc/hostname' },
      { titles: '/etc/passwd' },
      { repository: cluster.folder },
      { 'data-dir': `${cluster.folder}-elsewhere` },
      { host: '0.0.0.0', 'insecure-listener': true },
      { set: ['execution.checkpointing.dir=/etc'] },
      { set: [`execution.checkpointing.dir=hdfs://${brokers}/x`] },
    ]
    const before = await cluster.read<{ jobs: unknown[] }>('/jobs')
    for (const options of attacks) {
      const sent = cluster.send('POST', '/jobs', { job: 'histories', options })
      await expect(sent, JSON.stringify(options)).rejects.toThrow(/403 .*ACCESS_DENIED/)
    }
    const after = await cluster.read<{ jobs: unknown[] }>('/jobs')
    expect(after.jobs).toHaveLength(before.jobs.length)
    expect(calls).toBe(0)
    listener.close()
  })
})
