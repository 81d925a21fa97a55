import { describe, expect, it } from 'vitest'
import { requireJobShare } from '../../../src/cluster/jobmanager/job-share.ts'

describe('one more job', () => {
  it.each([
    ['runs while there is room', [], 'a', 1, undefined],
    ['is refused when all may run that run', ['b'], 'a', 1, /1 jobs run.* at most 1:.*--max-jobs/],
    ['of a user of this machine is refused only then', ['a', 'a', 'a'], undefined, 4, undefined],
    ['of a user of this machine too', [undefined, undefined], undefined, 2, /at most 2/],
    ['is refused to a client with half of all', ['a', 'b', 'a'], 'a', 4, /one client .* 2 of 4/],
    ['runs for another client', ['a', 'a'], 'b', 4, undefined],
    ['may be the only one of a client', ['b'], 'a', 3, undefined],
  ])('%s', (_, running, client, most, problem) => {
    const ask = () => requireJobShare({ running, client, most })
    if (problem === undefined) expect(ask).not.toThrow()
    else expect(ask).toThrow(problem)
  })
})
