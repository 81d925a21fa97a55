import { expect, it } from 'vitest'
import { FakeJob, fakeApp, fakeCluster } from '../fake-cluster.ts'
import { JOB_ID } from '../snapshot.ts'

const JOB = `/jobs/${JOB_ID}`

it('rescales a job, and says what became of it', async () => {
  const job = new FakeJob()
  await using app = await fakeApp(fakeCluster([job]))
  const path = `${JOB}/rescaling`
  const rescaled = async (parallelism: number): Promise<unknown> => {
    const answer = await app.inject({
      method: 'PATCH',
      url: `${path}?parallelism=${parallelism}`,
    })
    expect(answer.statusCode).toBe(200)
    const { 'request-id': id } = answer.json<{ readonly 'request-id': string }>()
    return (await app.inject({ url: `${path}/${id}` })).json()
  }
  expect(await rescaled(4)).toEqual({ status: { id: 'COMPLETED' }, operation: {} })
  expect(await rescaled(200)).toMatchObject({
    status: { id: 'COMPLETED' },
    operation: { 'failure-cause': { class: 'INVALID_ARGUMENT' } },
  })
  expect(job.calls).toEqual(['rescale 4'])
  for (const query of ['', '?parallelism=0', '?parallelism=two']) {
    expect((await app.inject({ method: 'PATCH', url: `${path}${query}` })).statusCode).toBe(400)
  }
})
