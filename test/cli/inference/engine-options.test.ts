import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Flags } from '../../../src/cli/command/command.ts'
import { parseCommandLine } from '../../../src/cli/command/parse.ts'
import { readSettings } from '../../../src/cli/command/settings.ts'
import { engineOptionsOf } from '../../../src/cli/inference/engine-options.ts'
import { runCommand } from '../../../src/cli/verbs/run.ts'
import { temporaryFolder } from '../../connectors/log/fixture.ts'

const warnings: string[] = []

function optionsOf(argv: readonly string[], env: Record<string, string> = {}) {
  const { flags } = parseCommandLine(runCommand, argv, (file) => readSettings(env, file))
  return engineOptionsOf(new Flags(flags), { env, err: (line) => warnings.push(line) })
}

/** The options with a file of keys that has this text. */
function keysOf(text: string, env: Record<string, string> = {}) {
  const file = join(temporaryFolder(), 'keys.yaml')
  writeFileSync(file, text)
  return optionsOf(['--remote-keys', file], env).remoteKeys
}

describe('the keys of model servers', () => {
  it('are read from the environment and from files, by the origin of the server', () => {
    const secret = join(temporaryFolder(), 'secret')
    writeFileSync(secret, 'sk-two\n', { mode: 0o600 })
    warnings.length = 0
    const text = `https://api.example.com: { env: EXAMPLE_KEY }\nhttp://127.0.0.1:8000: { file: ${secret} }\n`
    expect(keysOf(text, { EXAMPLE_KEY: 'sk-one' })).toEqual({
      'https://api.example.com': 'sk-one',
      'http://127.0.0.1:8000': 'sk-two',
    })
    expect(warnings).toEqual([])
    expect(optionsOf([])).toEqual({})
    expect(optionsOf(['--memory', '1GiB'])).toEqual({ memoryBytes: 2 ** 30 })
  })

  it('in a file that other users can read are warned about, or refused with --strict-secrets', () => {
    const folder = temporaryFolder()
    const [secret, file] = [join(folder, 'secret'), join(folder, 'keys.yaml')]
    writeFileSync(secret, 'sk-two\n', { mode: 0o644 })
    writeFileSync(file, `https://a.example: { file: ${secret} }`)
    warnings.length = 0
    const said = `other users of this machine can read the key of https://a.example ${secret} (mode 0644)`
    expect(optionsOf(['--remote-keys', file]).remoteKeys).toEqual({ 'https://a.example': 'sk-two' })
    expect(warnings).toEqual([expect.stringContaining(said)])
    expect(() => optionsOf(['--remote-keys', file, '--strict-secrets'])).toThrow(said)
  })

  it.each([
    ['https://a.example: { env: NO_KEY }', ':1: the environment variable NO_KEY has no key'],
    ['https://a.example: { env: TWO_LINES }', 'has something else than one key'],
    ['https://a.example: { file: /no/such/file }', 'cannot read /no/such/file'],
    ['https://a.example: { key: sk-one }', 'takes { env: NAME } or { file: PATH }'],
    ['https://a.example: sk-one', 'takes { env: NAME } or { file: PATH }'],
    ['https://a.example: { env: sk-one }', 'is no name of an environment variable'],
    ['https://a.example: {}', 'which say where the key is'],
    ['https://a.example: { env: A, file: b }', 'takes { env: NAME } or { file: PATH }'],
    ['https://a.example/v1: { env: GOOD }', 'is no https://HOST:PORT'],
    ['https://u:p@a.example: { env: GOOD }', 'is no https://HOST:PORT'],
    ['a.example: { env: GOOD }', 'is no https://HOST:PORT'],
    ['http://a.example: { env: GOOD }', 'could be read on its way; use https://'],
  ])('are refused without a word of a key: %s', (text, message) => {
    const env = { GOOD: 'sk-good', TWO_LINES: 'sk-one\nsk-two' }
    let thrown: unknown
    try {
      keysOf(text, env)
    } catch (error) {
      thrown = error
    }
    expect(String(thrown)).toContain(message)
    expect(String(thrown)).not.toMatch(/sk-/)
  })
})
