import { describe, expect, it } from 'vitest'
import {
  type Command,
  exitCodeOf,
  Flags,
  helpOf,
  InterruptedError,
  parseCommandLine,
  UsageError,
} from '../../src/cli/command.ts'
import { WeirError } from '../../src/core/errors.ts'

const brew: Command = {
  name: 'brew',
  summary: 'Brew something',
  usage: 'WHAT',
  options: {
    cups: { type: 'string', value: 'N', default: '2', short: 'c', help: 'Cups' },
    strong: { type: 'boolean', help: 'More of it' },
    port: { type: 'string', value: 'PORT', default: '9069', help: 'Where' },
    set: { type: 'string', multiple: true, short: 'D', value: 'KEY=VALUE', help: 'Configuration' },
  },
  details: 'Example:\n  weir brew tea',
  run: async () => 0,
}

const flagsOf = (...argv: string[]): Flags => new Flags(parseCommandLine(brew, argv).flags)

describe('a command line', () => {
  it('gives flags, short flags, defaults and what stands between them', () => {
    const { flags, args } = parseCommandLine(brew, ['tea', '-c4', '--strong', 'now', '-Da=b'])
    expect(args).toEqual(['tea', 'now'])
    expect(flags).toMatchObject({ cups: '4', strong: true, port: '9069', set: ['a=b'] })
    expect(flagsOf().integer('cups')).toBe(2)
  })

  it('names the nearest flag when one is not known', () => {
    expect(() => flagsOf('--cusp', '3')).toThrow('unknown option --cusp; did you mean --cups?')
    expect(() => flagsOf('--constructor')).toThrow(UsageError)
    expect(() => flagsOf('-z')).toThrow(UsageError)
  })

  it('leaves what follows -- alone', () => {
    expect(parseCommandLine(brew, ['--', '--cusp']).args).toEqual(['--cusp'])
  })

  it('takes from the settings what no flag says, and adds its keys after theirs', () => {
    const settings = () => ({ flags: { port: '1', cups: '9' }, configuration: { a: 'file' } })
    const { flags } = parseCommandLine(brew, ['--cups', '3', '-D', 'a=flag'], settings)
    expect(flags).toMatchObject({ port: '1', cups: '3', set: ['a=file', 'a=flag'] })
  })

  it('refuses values out of range with the name of the flag', () => {
    expect(() => flagsOf('--cups', '0').integer('cups', 1)).toThrow(
      '--cups must be a whole number from 1',
    )
    expect(() => flagsOf('--cups', 'many').number('cups')).toThrow('--cups must be a number')
    expect(() => flagsOf('--cups', '').number('cups')).toThrow('--cups must be a number')
    expect(() => flagsOf('--cups', 'x').choice('cups', ['a', 'b'])).toThrow('one of a, b')
    expect(() => flagsOf().string('absent')).toThrow('--absent is required')
  })
})

describe('help', () => {
  it('shows usage, every option with its default, and the examples', () => {
    const text = helpOf(brew)
    expect(text).toContain('Usage: weir brew WHAT [options]')
    expect(text).toMatch(/-c, --cups N +Cups \(default 2\)/)
    for (const name of ['--strong', '--json', '--help', '--config FILE', 'weir brew tea']) {
      expect(text).toContain(name)
    }
  })
})

describe('exit codes', () => {
  it('are 2 for wrong use, 130 for Ctrl-C, and 1 for all else', () => {
    expect(exitCodeOf(new UsageError('x'))).toBe(2)
    expect(exitCodeOf(new WeirError('UNKNOWN_OPTION', 'x'))).toBe(2)
    expect(exitCodeOf(new InterruptedError('x'))).toBe(130)
    expect(exitCodeOf(new WeirError('UNKNOWN_TOPIC', 'x'))).toBe(1)
    expect(exitCodeOf(new Error('x'))).toBe(1)
  })
})
