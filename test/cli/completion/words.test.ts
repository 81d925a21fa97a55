import { describe, expect, it } from 'vitest'
import type { Command } from '../../../src/cli/command/command.ts'
import { completionPlaces } from '../../../src/cli/completion/words.ts'
import { wholeNumber } from '../../../src/cli/flag-kinds/numbers.ts'
import { path } from '../../../src/cli/flag-kinds/places.ts'
import { secret } from '../../../src/cli/flag-kinds/words.ts'

const run = (): Promise<undefined> => Promise.resolve(undefined)
const COMMANDS: readonly Command[] = [
  {
    name: 'train als',
    summary: 'Train factors',
    options: {
      ratings: { type: 'string', value: path(), help: 'Ratings' },
      factors: { type: 'string', value: wholeNumber(), help: 'Factors' },
      implicit: { type: 'boolean', help: 'Counts' },
      password: { type: 'string', value: secret, isSecret: true, help: 'Secret' },
    },
    run,
  },
  { name: 'train svm', summary: 'Train weights', options: {}, run },
  { name: 'stop', summary: 'Stop a job', options: {}, run },
]

describe('the places of completion', () => {
  const places = completionPlaces(COMMANDS)

  it('begin with the first words: commands with their summary, groups with their subcommands', () => {
    expect(places[0]).toEqual({
      path: '',
      words: [
        { word: 'train', help: 'als, svm' },
        { word: 'stop', help: 'Stop a job' },
      ],
      flags: [],
    })
  })

  it('list the subcommands of a group, and no word after a command', () => {
    const words = new Map(places.map((place) => [place.path, place.words]))
    expect(words.get('train')).toEqual([
      { word: 'als', help: 'Train factors' },
      { word: 'svm', help: 'Train weights' },
    ])
    expect(words.get('train als')).toEqual([])
  })

  it('know which flags take a file, another value or none, and hide secrets', () => {
    const flags = places.find(({ path }) => path === 'train als')!.flags
    expect(flags).toContainEqual({ word: '--ratings', help: 'Ratings', value: 'file' })
    expect(flags).toContainEqual({ word: '--factors', help: 'Factors', value: 'text' })
    expect(flags).toContainEqual({ word: '--implicit', help: 'Counts', value: 'none' })
    expect(flags.map(({ word }) => word)).toContain('--help')
    expect(flags.map(({ word }) => word)).not.toContain('--password')
  })
})
