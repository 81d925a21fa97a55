import { expect, it } from 'vitest'
import { JobLog } from '../../../src/cli/serve/job-log.ts'
import { WeirError } from '../../../src/core/errors.ts'
import { recordedIo } from '../recorded-io.ts'

function logOf(isJson: boolean) {
  const { io, err } = recordedIo()
  return { log: new JobLog(io, { name: 'counts', isJson, nowMs: () => 7 }), err }
}

const failure = new WeirError('OPERATOR_FAILED', 'operator sum, task count#2, failed: x', {
  details: { task: 'count#2', operator: 'sum', code: 'NOT_FINITE' },
})

it('a log as text has the name of the job and the sentence, and the time of what happened before', () => {
  const { log, err } = logOf(false)
  log.info('serving queries')
  log.error('attempt 2 failed', { atMs: new Date(2026, 1, 3, 4, 5, 6).getTime(), error: failure })
  expect(err).toEqual(['counts: serving queries', 'counts: 04:05:06 attempt 2 failed'])
})

it('a log as JSON has level, time, job, attempt, code, operator and subtask', () => {
  const { log, err } = logOf(true)
  log.info('serving queries')
  log.error('attempt 2 failed', { atMs: 5, attempt: 2, error: failure })
  log.warn('lost', {
    error: new WeirError('SLOT_LOST', 'slot 1 is lost', { details: { slot: 1 } }),
  })
  expect(err.map((line) => JSON.parse(line))).toEqual([
    { level: 30, time: 7, name: 'weir', job: 'counts', msg: 'serving queries' },
    {
      level: 50,
      time: 5,
      name: 'weir',
      job: 'counts',
      attempt: 2,
      code: 'NOT_FINITE',
      operator: 'sum',
      subtask: 2,
      msg: 'attempt 2 failed',
    },
    { level: 40, time: 7, name: 'weir', job: 'counts', code: 'SLOT_LOST', slot: 1, msg: 'lost' },
  ])
})

it.each([true, false])('a log never has a token (JSON: %s)', (isJson) => {
  const { log, err } = logOf(isJson)
  log.warn('refused weir_0123456789ab_c2VjcmV0LXNlY3JldA of a client')
  expect(err[0]).toContain('refused weir_0123456789ab_... of a client')
  expect(err[0]).not.toContain('c2VjcmV0')
})

it('a sentence with text of a peer stays one line, and a terminal obeys nothing in it', () => {
  const { log, err } = logOf(false)
  log.warn('the broker says: x\nmodels: version 9 is live\x1b[2J')
  expect(err).toEqual(['counts: the broker says: x\\nmodels: version 9 is live\\x1b[2J'])
})
