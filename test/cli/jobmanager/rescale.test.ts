import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCommandLine } from '../../../src/cli/run-command-line.ts'
import { FakeJob, fakeApp, fakeCluster } from '../../cluster/rest/fake-cluster.ts'
import { recordedIo } from '../recorded-io.ts'

const job = new FakeJob()
let app: Awaited<ReturnType<typeof fakeApp>>
let address: string

beforeAll(async () => {
  app = await fakeApp(fakeCluster([job]))
  address = (await app.listen({ host: '127.0.0.1', port: 0 })).replace('http://', '')
})

afterAll(() => app.close())

async function rescale(...words: readonly string[]) {
  const { io, out, err } = recordedIo()
  const code = await runCommandLine(['rescale', ...words, '-m', address], io)
  return { code, out: out.join('\n'), err: err.join('\n') }
}

describe('weir rescale', () => {
  it('asks for the parallelism, and says what was done in the words of Flink', async () => {
    const { code, out } = await rescale('count words', '--parallelism', '4')
    expect([code, job.calls]).toEqual([0, ['rescale 4']])
    expect(out).toBe(`Modify job ${job.id}.\nRescaled job ${job.id}. Its new parallelism is 4.`)
    const json = await rescale(job.id.slice(0, 8), '-p', '2', '--json')
    expect(JSON.parse(json.out)).toEqual({ event: 'rescaled', jobId: job.id, parallelism: 2 })
  })

  it('fails with the reason of the JobManager', async () => {
    expect(await rescale(job.id, '-p', '200')).toMatchObject({
      code: 2,
      err: expect.stringContaining('INVALID_ARGUMENT: above the max parallelism'),
    })
  })

  it.each([
    [['x'], '--parallelism N'],
    [['-p', '2'], 'JOB'],
    [['x', '-p', '0'], 'from 1'],
    [['x', '-p', '2', 'y'], 'unexpected argument "y"'],
  ])('is used wrongly with %j', async (words, message) => {
    expect(await rescale(...words)).toMatchObject({
      code: 2,
      err: expect.stringContaining(message),
    })
  })
})
