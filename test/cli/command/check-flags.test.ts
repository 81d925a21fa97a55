import { describe, expect, it } from 'vitest'
import { checkPositions } from '../../../src/cli/command/check-flags.ts'
import type { Command } from '../../../src/cli/command/command.ts'
import { usageOf } from '../../../src/cli/command/help.ts'
import { parseCommandLine } from '../../../src/cli/command/parse.ts'
import { wholeNumber } from '../../../src/cli/flag-kinds/numbers.ts'
import { name, word } from '../../../src/cli/flag-kinds/words.ts'
import { brew } from './brew-command.ts'

const what = { value: word(['tea', 'coffee'], 'WHAT') }
const cups = { value: wholeNumber({ min: 1, max: 9 }, 'CUPS') }

function withPositions(...positions: NonNullable<Command['positions']>): Command {
  return { ...brew, positions }
}

describe('the usage', () => {
  it('names arguments, flags that are needed, and flags that say the same', () => {
    const usage = (...positions: NonNullable<Command['positions']>) =>
      usageOf(withPositions(...positions))
    expect(usage()).toBe('weir brew')
    expect(usage(what, { ...cups, isOptional: true })).toBe('weir brew WHAT [CUPS]')
    expect(usage(what, { ...cups, isRepeated: true })).toBe('weir brew WHAT CUPS...')
    expect(usage({ ...what, orFlags: ['sugar'] })).toBe('weir brew WHAT | --sugar NAME')
    const needed = { ...brew, options: { cups: { ...brew.options['cups']!, isRequired: true } } }
    expect(usageOf(needed as Command)).toBe('weir brew WHAT --cups N')
  })
})

describe('positional arguments', () => {
  const parse = (positions: NonNullable<Command['positions']>, ...words: string[]) => {
    const command = withPositions(...positions)
    const parsed = parseCommandLine(command, words)
    checkPositions(command, parsed)
    return parsed.args
  }

  it('are as many as the command has', () => {
    expect(parse([what], 'tea')).toEqual(['tea'])
    expect(() => parse([what])).toThrow('missing arguments. Usage: weir brew WHAT')
    expect(() => parse([what], 'tea', 's')).toThrow(
      'unexpected argument "s". Usage: weir brew WHAT',
    )
    expect(parse([what, { ...cups, isOptional: true }], 'tea')).toEqual(['tea'])
    expect(parse([what, { ...cups, isRepeated: true }], 'tea', '1', '2')).toHaveLength(3)
    expect(() => parse([what, { ...cups, isRepeated: true }], 'tea')).toThrow('missing arguments')
  })

  it('are of their kinds, each of several too', () => {
    expect(() => parse([what], 'coffe')).toThrow('WHAT must be one of tea, coffee, not "coffe"')
    expect(() => parse([what], 'coffe')).toThrow('did you mean "coffee"?')
    expect(() => parse([what, cups], 'tea', '10')).toThrow('not "10"; the nearest is 9')
    expect(() => parse([{ ...cups, isRepeated: true }], '1', '0')).toThrow('the nearest is 1')
  })

  it('are of another kind beside a flag that says so', () => {
    const either = [{ ...cups, beside: { strong: name('STRENGTH') } }]
    expect(() => parse(either, 'very')).toThrow('CUPS must be')
    expect(parse(either, 'very', '--strong')).toEqual(['very'])
  })

  it('or one of their flags: not both and not none', () => {
    const either = [{ ...what, orFlags: ['sugar'] }]
    expect(parse(either, 'tea')).toEqual(['tea'])
    expect(parse(either, '--sugar', 'white')).toEqual([])
    expect(() => parse(either)).toThrow('missing arguments. Usage: weir brew WHAT | --sugar NAME')
    expect(() => parse(either, 'tea', '--sugar', 'white')).toThrow('give one of these, not 2')
  })
})
