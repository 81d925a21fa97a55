import { describe, expect, it } from 'vitest'
import { UsageError } from '../../../src/cli/command/command.ts'
import { parseCommandLine } from '../../../src/cli/command/parse.ts'
import { brew } from './brew-command.ts'

const parse = (...argv: string[]) => parseCommandLine(brew, argv)

describe('a command line', () => {
  it('parses flags, short flags, defaults and positional arguments', () => {
    const { flags, args } = parse('tea', '-c4', '--strong', 'now', '-Da=b')
    expect(args).toEqual(['tea', 'now'])
    expect(flags).toMatchObject({ cups: '4', strong: true, port: '9069', set: ['a=b'] })
    expect(parse().flags).toMatchObject({ cups: '2' })
  })

  it('suggests the most similar flag for an unknown one', () => {
    expect(() => parse('--cusp', '3')).toThrow('unknown option --cusp; did you mean --cups?')
    expect(() => parse('--constructor')).toThrow(UsageError)
    expect(() => parse('-z')).toThrow(UsageError)
  })

  it('takes a negative number after a flag as its value', () => {
    expect(parse('--cups', '-1').flags).toMatchObject({ cups: '-1' })
    expect(parse('-c', '-.5', 'tea')).toMatchObject({ flags: { cups: '-.5' }, args: ['tea'] })
    expect(parse('--', '--cups', '-1').args).toEqual(['--cups', '-1'])
  })

  it('has errors of one line for what Node refuses', () => {
    expect(() => parse('-x')).toThrow(/^unknown option -x$/)
    expect(() => parse('--strong', '-1')).toThrow(/^unknown option -1$/)
    expect(() => parse('--cups', '--strong')).toThrow(/^--cups needs a value; write --cups=VALUE/)
    expect(() => parse('--cups')).toThrow(/^--cups needs a value/)
    expect(() => parse('--strong=yes')).toThrow(/^--strong takes no value$/)
  })

  it('does not parse words after --', () => {
    expect(parse('--', '--cusp').args).toEqual(['--cusp'])
  })

  it('takes missing flags from the settings, and puts its own keys after theirs', () => {
    const settings = () => ({ flags: { port: '1', cups: '9' }, configuration: { a: 'file' } })
    const { flags } = parseCommandLine(brew, ['--cups', '3', '-D', 'a=flag'], settings)
    expect(flags).toMatchObject({ port: '1', cups: '3', set: ['a=file', 'a=flag'] })
  })
})
