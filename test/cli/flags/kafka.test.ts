import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Command, Flags } from '../../../src/cli/command/command.ts'
import { helpOf } from '../../../src/cli/command/help.ts'
import { parseCommandLine } from '../../../src/cli/command/parse.ts'
import { readSettings } from '../../../src/cli/command/settings.ts'
import { path } from '../../../src/cli/flag-kinds/places.ts'
import { KAFKA_OPTIONS, kafkaOptionsOf, topicsPlaceOf } from '../../../src/cli/flags/kafka.ts'

let folder: string
let empty: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-flags-'))
  empty = join(folder, 'empty.yaml')
  writeFileSync(empty, '')
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const command: Command = {
  name: 'test',
  summary: 'A verb with the flags of Kafka',
  options: {
    ...KAFKA_OPTIONS,
    'data-dir': { type: 'string', value: path(), help: 'Folder', default: 'data' },
  },
  run: async () => 0,
}

function flagsOf(words: readonly string[], env: Record<string, string> = {}, file = empty): Flags {
  const read = () => readSettings(env, file)
  return new Flags(parseCommandLine(command, words, read).flags)
}

function file(name: string, text: string): string {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

const BROKERS = ['--brokers', 'k:9092']
const USER = [...BROKERS, '--sasl-mechanism', 'PLAIN', '--sasl-username', 'ada']

describe('the flags of Kafka', () => {
  it('select the embedded log of the data folder if there are none', () => {
    expect(kafkaOptionsOf(flagsOf([]))).toBeUndefined()
    expect(topicsPlaceOf(flagsOf([])).logDirectory).toMatch(/\/data\/log$/)
  })

  it('give only the options that were set', () => {
    expect(topicsPlaceOf(flagsOf(BROKERS))).toEqual({ kafka: { brokers: 'k:9092' } })
  })

  it('take the password from a file, without its line end, rather than from the environment', () => {
    const password = file('password', ' se cret\r\n')
    const words = [...USER, '--sasl-password-file', password]
    const sasl = { mechanism: 'PLAIN', username: 'ada', password: ' se cret' }
    const env = { WEIR_SASL_PASSWORD: 'other' }
    expect(kafkaOptionsOf(flagsOf(words, env))).toMatchObject({ sasl })
    expect(kafkaOptionsOf(flagsOf(USER, env))!.sasl!.password).toBe('other')
  })

  it('can be set in the configuration file, where true and false are words', () => {
    const settings = file('weir.yaml', 'brokers: k:1\ntls: true\nsasl-password: x\n')
    expect(kafkaOptionsOf(flagsOf([], {}, settings))).toEqual({ brokers: 'k:1', tls: true })
    const off = file('off.yaml', 'brokers: k:1\ntls: false\n')
    expect(kafkaOptionsOf(flagsOf([], {}, off))).toEqual({ brokers: 'k:1' })
    const wrong = file('wrong.yaml', 'tls: perhaps\n')
    expect(() => flagsOf([], {}, wrong)).toThrow('wrong.yaml must be true or false, not "perhaps"')
  })

  it('read certificates', () => {
    const [ca, cert, key] = ['ca', 'cert', 'key'].map((name) => file(`${name}.pem`, name))
    const words = [...BROKERS, '--tls-ca', ca!, '--tls-cert', cert!, '--tls-key', key!]
    expect(kafkaOptionsOf(flagsOf(words))!.tls).toEqual({ ca: 'ca', cert: 'cert', key: 'key' })
  })

  it.each([
    [[...BROKERS, '--sasl-username', 'ada'], 'needs --sasl-mechanism'],
    [[...BROKERS, '--sasl-mechanism', 'PLAIN'], 'needs --sasl-username'],
    [USER, 'needs a password'],
    [[...USER.with(3, 'GSSAPI')], 'must be one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512'],
    [[...USER, '--sasl-password-file', '/none'], 'cannot read /none'],
    [[...BROKERS, '--tls-ca', '/none'], 'cannot read /none'],
    [[...BROKERS, '--tls-cert', '/none'], '--tls-cert needs --tls-key FILE'],
  ])('refuse %j', (words, message) => {
    expect(() => kafkaOptionsOf(flagsOf(words))).toThrow(message)
  })

  it('are refused without the brokers for which they count, but not as settings', () => {
    expect(() => flagsOf(['--tls'])).toThrow('--tls needs --brokers HOST:PORT,...')
    expect(flagsOf([], { WEIR_TLS: 'true' }).boolean('tls')).toBe(true)
    expect(flagsOf(['--tls'], { WEIR_BROKERS: 'k:1' }).optional('brokers')).toBe('k:1')
  })

  it('have no flag for the password, also not in the help', () => {
    for (const words of [['--sasl-password', 'x'], ['--sasl-password=x']]) {
      expect(() => flagsOf([...USER, ...words])).toThrow('would show the secret')
    }
    expect(helpOf(command)).not.toMatch(/--sasl-password[ =]/)
    expect(helpOf(command)).toContain('WEIR_SASL_PASSWORD')
  })
})
