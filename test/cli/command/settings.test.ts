import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parseConfigurationFile } from '../../../src/cli/command/configuration-file.ts'
import { environmentName, readSettings } from '../../../src/cli/command/settings.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-settings-'))
})

afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

function file(text: string): string {
  const path = join(folder, 'weir.yaml')
  writeFileSync(path, text)
  return path
}

describe('settings', () => {
  it('come from the file; the environment overrides it', () => {
    const path = file('port: 1\nhost: a\nstate.backend.type: heap\n')
    const env = { WEIR_PORT: '2', WEIR_EXECUTION_CHECKPOINTING_INTERVAL: '5 s', HOME: '/' }
    expect(readSettings(env, path)).toEqual({
      flags: { port: '2', host: 'a' },
      configuration: { 'state.backend.type': 'heap', 'execution.checkpointing.interval': '5 s' },
      sources: {
        port: 'WEIR_PORT',
        host: `host in ${path}`,
        'state.backend.type': `state.backend.type in ${path}`,
        'execution.checkpointing.interval': 'WEIR_EXECUTION_CHECKPOINTING_INTERVAL',
      },
    })
  })

  it('take the file that WEIR_CONFIG names', () => {
    expect(readSettings({ WEIR_CONFIG: file('port: 7') }).flags).toEqual({ port: '7' })
  })

  it('turn the default parallelism into slots, so that --slots overrides it', () => {
    expect(readSettings({ WEIR_PARALLELISM_DEFAULT: '3' })).toEqual({
      flags: { slots: '3' },
      configuration: {},
      sources: { slots: 'WEIR_PARALLELISM_DEFAULT' },
    })
  })

  it('suggest the most similar key for an unknown one', () => {
    expect(() => readSettings({}, file('execution.checkpointing.intervall: 1 s'))).toThrow(
      'did you mean "execution.checkpointing.interval"?',
    )
    expect(() => readSettings({ WEIR_PROT: '1' })).toThrow('did you mean "WEIR_PORT"?')
  })

  it('ignore variables of other programs', () => {
    const env = {
      WEIR_PORT: 'tcp://10.0.0.1:9069',
      WEIR_SERVICE_HOST: '10.0.0.1',
      WEIR_PORT_9069_TCP_PROTO: 'tcp',
      WEIR_SEED: '4',
    }
    expect(readSettings(env)).toEqual({ flags: {}, configuration: {}, sources: {} })
  })

  it('refuse a missing file that was named', () => {
    expect(() => readSettings({}, join(folder, 'none.yaml'))).toThrow(
      'cannot read the configuration file',
    )
  })

  it('name variables after keys', () => {
    expect(environmentName('state.backend.memory.budget')).toBe('WEIR_STATE_BACKEND_MEMORY_BUDGET')
    expect(environmentName('data-dir')).toBe('WEIR_DATA_DIR')
  })
})

describe('a configuration file', () => {
  const parse = (text: string) => Object.fromEntries(parseConfigurationFile(text, 'weir.yaml'))

  it('joins nested keys by dots and keeps values as written', () => {
    const text =
      'execution:\n  checkpointing:\n    interval: 10 s # often\nport: 0100\nstate.backend.type: "heap"\n'
    expect(parse(text)).toEqual({
      'execution.checkpointing.interval': '10 s',
      port: '0100',
      'state.backend.type': 'heap',
    })
  })

  it('may be empty', () => {
    expect(parse('')).toEqual({})
    expect(parse('# nothing yet\n')).toEqual({})
  })

  it('is refused with file and line, or with the key', () => {
    expect(() => parse('a: [1\n')).toThrow(/weir.yaml: .*line/)
    expect(() => parse('a: [1, 2]')).toThrow('weir.yaml: a must have one value')
    expect(() => parse('- a')).toThrow('weir.yaml: write "key: value" lines')
    expect(() => parse('a: ')).toThrow('a must have one value')
    expect(() => parse('a:\n  b: 1\na.b: 2')).toThrow('a.b is given twice')
    expect(() => parse('{ a: 1 }: 2')).toThrow('weir.yaml: all keys must be strings at line 1')
  })
})
