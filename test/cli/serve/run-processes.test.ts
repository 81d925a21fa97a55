import { expect, it } from 'vitest'
import { withoutProcesses } from '../../../src/cli/serve/run-processes.ts'

it('a process of several gets the command line without their number', () => {
  expect(withoutProcesses(['run', 'a.ts', '--processes', '3', '--scale-out'])).toEqual([
    ...['run', 'a.ts', '--scale-out'],
  ])
  expect(withoutProcesses(['run', 'a.ts', '--processes=3', '-D', 'a=b'])).toEqual([
    ...['run', 'a.ts', '-D', 'a=b'],
  ])
})
