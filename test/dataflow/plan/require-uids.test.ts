import { describe, expect, it } from 'vitest'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { tumblingProcessingTimeWindows } from '../../../src/operators/windows/assigner.ts'
import { LocalExecutor } from '../../../src/runtime/job/local-executor.ts'

const CONFIGURATION = { 'state.backend.type': 'heap', 'pipeline.auto-generate-uids': 'false' }

/** A job with a window join, whose operators have uids as far as `uids` says. */
function joined(uids: boolean) {
  const env = new StreamExecutionEnvironment()
  const given = <S extends { uid(uid: string): S }>(stream: S, uid: string): S =>
    uids ? stream.uid(uid) : stream
  const numbers = given(env.fromElements([1, 2]), 'numbers')
  const pairs = given(
    numbers
      .join(numbers)
      .where((n) => n)
      .equalTo((n) => n)
      .window(tumblingProcessingTimeWindows(10))
      .apply((left, right) => left + right),
    'pairs',
  )
  given(pairs.discard(), 'nowhere')
  return env.graph('job')
}

describe('pipeline.auto-generate-uids: false', () => {
  it('refuses a job, and names each operator without a uid', () => {
    expect(() => new LocalExecutor(CONFIGURATION).start(joined(false), {})).toThrow(
      'pipeline.auto-generate-uids is false, and 2 operators have no uid: "',
    )
  })

  it('starts a job whose operators all have one', async () => {
    const result = await new LocalExecutor(CONFIGURATION).execute(joined(true), {})
    expect(result).toBeDefined()
  })
})
