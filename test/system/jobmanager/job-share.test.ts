import { expect, it } from 'vitest'
import { TestCluster } from './cluster-fixture.ts'

const JOB = ['run', 'als-serving', '-d', '--slots', '1', '--port', '0']

it('a JobManager runs as many jobs as its start says, and another one when one has ended', async () => {
  await using cluster = await TestCluster.start('--max-jobs', '1')
  const first = await cluster.ask(...JOB)
  const [, id] = /JobID ([0-9a-f]{32})$/m.exec(first.stdout)!
  const second = await cluster.ask(...JOB)
  expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining('OVERLOADED') })
  expect(second.stderr).toContain('1 jobs run, and this JobManager runs at most 1')
  expect(await cluster.ask('cancel', id!)).toMatchObject({ code: 0 })
  const third = await cluster.ask(...JOB)
  expect(third, third.stderr).toMatchObject({ code: 0 })
})
