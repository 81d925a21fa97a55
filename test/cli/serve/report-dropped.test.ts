import { expect, it } from 'vitest'
import { JobLog } from '../../../src/cli/serve/job-log.ts'
import { droppedReporter } from '../../../src/cli/serve/report-dropped.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { recordedIo } from '../recorded-io.ts'

it('reports five dropped records one by one, and counts the others', () => {
  const { io, err } = recordedIo()
  const clock = new ManualClock()
  const log = new JobLog(io, { name: 'als-serving', nowMs: () => clock.nowMs() })
  const report = droppedReporter(log, clock)
  for (let offset = 0; offset < 3000; offset++) report(0, offset, 'no row')
  expect(err).toHaveLength(5)
  expect(err[0]).toBe('als-serving: dropped the record at 0:0: no row')
  clock.advance(10_000)
  expect(err.slice(5)).toEqual(['als-serving: dropped 2995 more records, 3000 in all'])
})
