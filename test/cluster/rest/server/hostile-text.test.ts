import { expect, it } from 'vitest'
import { FakeJob, fakeApp, fakeCluster } from '../fake-cluster.ts'
import { COUNT_ID, JOB_ID } from '../snapshot.ts'

const BODIES: readonly (readonly ['POST' | 'PUT', string, string])[] = [
  ['POST', '/jobs', '{"job":"als-serving","options":{"topic":"VALUE"}}'],
  ['POST', `/jobs/${JOB_ID}/savepoints`, '{"target-directory":"VALUE"}'],
  ['POST', `/jobs/${JOB_ID}/stop`, '{"targetDirectory":"VALUE"}'],
  ['POST', `/jobs/${JOB_ID}/checkpoints`, '{"triggerId":"VALUE"}'],
  ['POST', `/weir/jobs/${JOB_ID}/models/2/promote`, '{"force":"VALUE"}'],
  ['POST', `/weir/jobs/${JOB_ID}/models/rollback`, '{"reason":"VALUE"}'],
  ['POST', `/weir/jobs/${JOB_ID}/models/rollback`, '{"expectLive":NUMBER}'],
  ['POST', `/weir/jobs/${JOB_ID}/models/2/promote`, '{"expectLive":NUMBER}'],
  [
    'PUT',
    `/jobs/${JOB_ID}/resource-requirements`,
    `{"${COUNT_ID}":{"parallelism":{"lowerBound":1,"upperBound":NUMBER}}}`,
  ],
]

it.each(BODIES)(
  'the REST interface refuses text that is no UTF-8, and numbers that are too large: %s %s %s',
  async (method, url, body) => {
    const job = new FakeJob()
    const cluster = fakeCluster([job])
    await using app = await fakeApp(cluster)
    const [before, after] = body.split(/VALUE|NUMBER/).map((part) => Buffer.from(part))
    const values = body.includes('NUMBER')
      ? [Buffer.from('1e999'), Buffer.from('-1e999')]
      : [[0xff], [0xc3], [0xed, 0xa0, 0x80]].map((bytes) => Buffer.from(bytes))
    for (const value of values) {
      const payload = Buffer.concat([before!, value, after!])
      const headers = { 'content-type': 'application/json' }
      const { statusCode } = await app.inject({ method, url, headers, payload })
      expect(statusCode, value.toString('hex')).toBe(400)
    }
    expect(job.calls).toEqual([])
    expect(cluster.submitted).toEqual([])
  },
)
