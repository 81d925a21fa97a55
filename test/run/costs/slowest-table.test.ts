import { expect, it } from 'vitest'
import { slowestTable } from './slowest-table.ts'

const waits = { server: 0, pause: 0, condition: 0 }
const quick = { file: 'test/quick.test.ts', seconds: 0.25, processorSeconds: 0.2, waits }
const slow = {
  file: 'test/slow.test.ts',
  seconds: 12,
  processorSeconds: 3.14,
  waits: { server: 5, pause: 1, condition: 2.5 },
}

it('has the slowest file first, with what it waited for and the rest', () => {
  expect(slowestTable([quick, slow])).toBe(
    [
      '  seconds  processor     server      pause  condition       rest  file',
      '     12.0        3.1        5.0        1.0        2.5        3.5  test/slow.test.ts',
      '      0.3        0.2        0.0        0.0        0.0        0.3  test/quick.test.ts',
    ].join('\n'),
  )
})

it('has as many files as are asked for', () => {
  expect(slowestTable([quick, slow], 1).split('\n')).toHaveLength(2)
})

it('has no rest below nothing where waits were at the same time', () => {
  const both = { ...slow, seconds: 6, waits: { server: 5, pause: 0, condition: 5 } }
  expect(slowestTable([both])).toMatch(/ 0\.0 {2}test\/slow\.test\.ts$/)
})
