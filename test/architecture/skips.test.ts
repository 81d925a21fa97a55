import { expect, it } from 'vitest'
import { filesOf, textOf } from './source-tree.ts'

const SKIP = /\b(?:it|test|describe)(?:\.\w+)*\.(?:skip|skipIf|runIf|todo|only|fails)\b/

it('a test that is skipped says why: needs() of test/run/needs.ts', () => {
  const skipping = filesOf('test').filter((file) => SKIP.test(textOf(file)))
  expect(skipping).toEqual([])
})

it.each(['it.%s(', 'describe.%s.each(', 'it.concurrent.%s(', 'test.%s('])('finds %s', (call) => {
  for (const word of ['skip', 'skipIf', 'runIf', 'todo', 'only', 'fails']) {
    expect(call.replace('%s', word)).toMatch(SKIP)
  }
})
