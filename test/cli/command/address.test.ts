import { describe, expect, it } from 'vitest'
import type { OptionSpec } from '../../../src/cli/command/command.ts'
import { parseCommandLine } from '../../../src/cli/command/parse.ts'
import { COMMANDS } from '../../../src/cli/commands.ts'

const named = (name: string) => COMMANDS.find((command) => command.name === name)!
const parse = (verb: string, ...argv: readonly string[]) =>
  parseCommandLine(named(verb), argv).flags

/** Flags of parts of an address, which another flag of the command stands for. */
const PARTS = ['host', 'port']

const isHostAndPort = ({ value }: OptionSpec): boolean =>
  value !== undefined &&
  value.problem('127.0.0.1:9070') === undefined &&
  value.problem('[::1]:9070') === undefined

describe('the addresses of all commands', () => {
  it('are HOST:PORT in one flag, or a port of this machine', () => {
    const flags = COMMANDS.flatMap(({ name, options }) =>
      Object.entries(options).map(([flag, spec]) => ({ name, flag, spec })),
    )
    const addresses = flags.filter(({ spec }) =>
      ['address', 'port'].includes(spec.value?.sort ?? ''),
    )
    expect(addresses.length).toBeGreaterThan(50)
    const inPieces = addresses.filter(({ spec }) => !isHostAndPort(spec))
    expect([...new Set(inPieces.map(({ flag }) => flag))].sort()).toEqual(PARTS)
    for (const { name } of inPieces) {
      const whole = Object.entries(named(name).options).filter(([, spec]) => spec.parts)
      expect(
        whole.map(([flag]) => flag),
        name,
      ).toHaveLength(1)
    }
    for (const { name, flag, spec } of addresses) {
      if (!PARTS.includes(flag))
        expect(spec.value?.problem('9070'), `${name} ${flag}`).toBeUndefined()
    }
  })

  it.each(['run', 'learn als', 'learn svm', 'quickstart'])(
    'are the host and the port that "weir %s" opens',
    (verb) => {
      expect(parse(verb)).toMatchObject({ host: '127.0.0.1', port: '9069' })
      expect(parse(verb, '--listen', '0.0.0.0:7')).toMatchObject({ host: '0.0.0.0', port: '7' })
      expect(parse(verb, '--listen', '0')).toMatchObject({ host: '127.0.0.1', port: '0' })
      expect(parse(verb, '--host', '::1', '--port', '8')).toMatchObject({ host: '::1', port: '8' })
    },
  )

  it.each(['query', 'predict', 'recommend', 'evaluate', 'classify', 'load', 'gateway', 'infer'])(
    'are the host and the port that "weir %s" asks',
    (verb) => {
      expect(parse(verb)).toMatchObject({ host: '127.0.0.1', port: '9069' })
      expect(parse(verb, '--job', '[::1]:7')).toMatchObject({ host: '::1', port: '7' })
      expect(parse(verb, '--job', '9070')).toMatchObject({ host: '127.0.0.1', port: '9070' })
      expect(() => parse(verb, '--job', '0')).toThrow(/^--job must be HOST:PORT, or a port/)
    },
  )

  it.each(['jobmanager', 'cluster start'])(
    'are the keys of the REST interface of "weir %s"',
    (verb) => {
      expect(parse(verb, '-D', 'rest.enabled=true', '--listen', '0.0.0.0:7')).toMatchObject({
        host: '0.0.0.0',
        set: ['rest.enabled=true', 'rest.bind-address=0.0.0.0', 'rest.port=7'],
      })
      expect(() => parse(verb, '--listen', '7', '-D', 'rest.port=8')).toThrow(
        /was given twice for rest\.port: 8, 7$/,
      )
    },
  )

  it('are refused beside their own parts, and override those of the settings', () => {
    expect(() => parse('query', '--port', '7', '--job', '9070')).toThrow(
      /^--job and --port exclude each other; leave one out$/,
    )
    const settings = () => ({
      flags: { host: 'weir.example.org', port: '1' },
      configuration: {},
      sources: {},
    })
    const asked = (...argv: readonly string[]) =>
      parseCommandLine(named('query'), argv, settings).flags
    expect(asked()).toMatchObject({ host: 'weir.example.org', port: '1' })
    expect(asked('--job', '9070')).toMatchObject({ host: '127.0.0.1', port: '9070' })
  })
})
