import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FlinkClient } from '../../services/flink/command-line.ts'
import { TestCluster } from './cluster-fixture.ts'

let cluster: TestCluster
let flink: FlinkClient

beforeAll(async () => {
  flink = await FlinkClient.open()
  cluster = await TestCluster.start()
})

afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]()
  flink?.[Symbol.dispose]()
})

const run = (...words: string[]) => flink.run(...words, '-m', cluster.address)

describe('Flink 1.20’s command-line client', () => {
  it('lists, savepoints, stops and cancels jobs of Weir', async () => {
    const id = await cluster.submit('run', 'als-serving', '--slots', '1')
    await cluster.reaches(id, 'RUNNING')

    const listed = await run('list')
    expect(listed.text).toContain(`${id} : als-serving (RUNNING)`)
    expect(listed.text).toContain('No scheduled jobs.')

    const taken = await run('savepoint', id)
    expect(taken).toMatchObject({ code: 0 })
    const path = /^Savepoint completed\. Path: (file:\S+)$/m.exec(taken.text)![1]!

    const stopped = await run('stop', id)
    expect(stopped.text).toMatch(/^Savepoint completed\. Path: file:\S+$/m)
    await cluster.reaches(id, 'FINISHED')

    const again = await cluster.submit('run', 'als-serving', '--slots', '1', '-s', path)
    await cluster.reaches(again, 'RUNNING')
    const cancelled = await run('cancel', again)
    expect(cancelled.text).toContain(`Cancelled job ${again}.`)
    await cluster.reaches(again, 'CANCELED')
    expect((await run('list', '-a')).text).toMatch(
      new RegExp(`${again} : als-serving \\(CANCELED\\)`),
    )
  })

  it('shows Weir’s sentence about a savepoint that cannot be taken', async () => {
    const id = await cluster.submit('run', 'als-serving', '--slots', '1')
    await cluster.reaches(id, 'RUNNING')
    const refused = await run('savepoint', id, '/somewhere/else')
    expect(refused.code).toBe(1)
    expect(refused.text).toMatch(/INVALID_ARGUMENT: savepoints are stored below/)
    const unknown = await run('cancel', 'e'.repeat(32))
    expect(unknown.text).toContain('NOT_FOUND: no job has the id')
    await run('cancel', id)
  })
})
