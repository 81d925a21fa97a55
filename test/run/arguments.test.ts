import { expect, it } from 'vitest'
import { parseArguments } from './arguments.ts'

it('gives what is not its own to vitest', () => {
  const words = ['test/core', '-t', 'a name', '--slowest', '--sequence.seed=7']
  expect(parseArguments(words)).toEqual({
    help: false,
    checksOnly: false,
    unitOnly: false,
    campaigns: 'short',
    slowest: true,
    changedSince: undefined,
    others: ['test/core', '-t', 'a name', '--sequence.seed=7'],
  })
})

it.each([
  [['--changed'], 'HEAD', []],
  [['--changed', 'main~3'], 'main~3', []],
  [['--changed', '-t', 'x'], 'HEAD', ['-t', 'x']],
  [['--changed', 'test/a.test.ts'], 'HEAD', ['test/a.test.ts']],
])('reads %j as changes since %s', (words, commit, others) => {
  expect(parseArguments(words)).toMatchObject({ changedSince: commit, others })
})

it.each([
  ['--sixth', 'sixth'],
  ['--whole', 'whole'],
])('%s is a size of campaigns', (word, campaigns) => {
  expect(parseArguments([word, 'test/a.test.ts'])).toMatchObject({
    campaigns,
    others: ['test/a.test.ts'],
  })
})
