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
    expect(parse('-c', '-7', 'tea')).toMatchObject({ flags: { cups: '-7' }, args: ['tea'] })
    expect(parse('--', '--cups', '-1').args).toEqual(['--cups', '-1'])
  })

  it('has errors of one line for what Node refuses', () => {
    expect(() => parse('-x')).toThrow(/^unknown option -x$/)
    expect(() => parse('--strong', '-1')).toThrow(/^unknown option -1$/)
    expect(() => parse('--cups', '--strong')).toThrow(/^--cups needs a value; write --cups=VALUE/)
    expect(() => parse('--cups')).toThrow(/^--cups needs a value/)
    expect(() => parse('--strong=yes')).toThrow(
      /^--strong takes no value; write --no-strong for the opposite$/,
    )
    expect(() => parse('--no-lid=no')).toThrow('write --lid for the opposite')
    expect(() => parse('--no-strong=1')).toThrow('write --strong for the opposite')
  })

  it('does not parse words after --', () => {
    expect(parse('--', '--cusp').args).toEqual(['--cusp'])
  })

  it('takes missing flags from the settings, and puts its own keys after theirs', () => {
    const settings = () => ({
      flags: { port: '1', cups: '9' },
      configuration: { a: 'file' },
      sources: {},
    })
    const { flags } = parseCommandLine(brew, ['--cups', '3', '-D', 'a=flag'], settings)
    expect(flags).toMatchObject({ port: '1', cups: '3', set: ['a=file', 'a=flag'] })
  })

  it('turns every switch off by --no- before its name, or by its name without it', () => {
    const settings = () => ({
      flags: { strong: 'true', json: 'true' },
      configuration: {},
      sources: {},
    })
    expect(parseCommandLine(brew, ['--no-strong'], settings).flags).toMatchObject({
      strong: false,
      json: true,
    })
    expect(parse('--no-lid').flags).toMatchObject({ 'no-lid': true })
    expect(parse('--lid').flags).toMatchObject({ 'no-lid': false })
    expect(() => parse('--no-cups')).toThrow('unknown option --no-cups')
  })
})

describe('a value of a flag', () => {
  it('is refused by its flag, with what is taken and the nearest value', () => {
    expect(() => parse('--cups', '13')).toThrow(
      /^--cups must be a whole number up to 12, not "13"; the nearest is 12$/,
    )
    expect(() => parse('-c', '1.5')).toThrow(/^--cups must be a whole number .* the nearest is 2$/)
    expect(() => parse('--sugar', 'brwon')).toThrow(
      /^--sugar must be one of white, brown, not "brwon"; did you mean "brown"\?$/,
    )
    expect(() => parse('--cups=')).toThrow('--cups must be a whole number up to 12, not ""')
  })

  it('is refused by the variable or the line of the file that gave it', () => {
    const given = (flags: Record<string, string>, configuration: Record<string, string>) => () =>
      parseCommandLine(brew, [], () => ({
        flags,
        configuration,
        sources: { port: 'WEIR_PORT', strong: 'strong in weir.yaml', '=': 'a key in weir.yaml' },
      }))
    expect(given({ port: '70000' }, {})).toThrow(
      /^WEIR_PORT must be a whole number from 0 to 65535, not "70000"; the nearest is 65535$/,
    )
    expect(given({ strong: 'yes' }, {})).toThrow('strong in weir.yaml must be true or false')
    expect(given({}, { '=': 'x' })).toThrow('a key in weir.yaml must be KEY=VALUE')
  })

  it('may come once, unless the flag is repeatable, and each key of a repeatable one once', () => {
    expect(() => parse('--port', '1', '-c', '3', '--port=2')).toThrow(
      /^--port was given twice: 1, 2$/,
    )
    expect(() => parse('--strong', '--strong')).toThrow(/^--strong was given twice$/)
    expect(() => parse('--strong', '--no-strong')).toThrow(/^--strong was given twice$/)
    expect(parse('-D', 'a=1', '-D', 'b=2').flags['set']).toEqual(['a=1', 'b=2'])
    expect(() => parse('-D', 'a=1', '-D', 'a=2')).toThrow(/^--set was given twice for a: 1, 2$/)
  })

  it('is refused without the flags that it needs, and beside those that it excludes', () => {
    expect(() => parse('--spoons', '2')).toThrow(/^--spoons needs --sugar white$/)
    expect(() => parse('--spoons', '2', '--sugar', 'brown')).toThrow('--spoons needs --sugar white')
    expect(parse('--spoons', '2', '--sugar', 'white').flags).toMatchObject({ spoons: '2' })
    expect(() => parse('--no-lid', '--strong')).toThrow(
      /^--no-lid and --strong exclude each other; leave one out$/,
    )
    const settings = () => ({ flags: { spoons: '2' }, configuration: {}, sources: {} })
    expect(parseCommandLine(brew, [], settings).flags).toMatchObject({ spoons: '2' })
  })
})
