import { expect, it } from 'vitest'
import { longRunningFlags } from '../../src/core/sibling-module.ts'

it.each([
  [[], ['--max-semi-space-size=16']],
  [['--enable-source-maps'], ['--enable-source-maps', '--max-semi-space-size=16']],
  [['--max-semi-space-size=64'], ['--max-semi-space-size=64']],
])('a process that is started with %j runs with %j', (given, flags) => {
  expect(longRunningFlags(given)).toEqual(flags)
})
