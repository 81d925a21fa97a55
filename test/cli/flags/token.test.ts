import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Flags } from '../../../src/cli/command/command.ts'
import { parseCommandLine } from '../../../src/cli/command/parse.ts'
import { readSettings } from '../../../src/cli/command/settings.ts'
import { tokenOf } from '../../../src/cli/flags/token.ts'
import { runCommand } from '../../../src/cli/verbs/run.ts'
import { temporaryFolder } from '../../connectors/log/fixture.ts'

function flagsOf(argv: readonly string[], env: Record<string, string> = {}): Flags {
  return new Flags(parseCommandLine(runCommand, argv, (file) => readSettings(env, file)).flags)
}

describe('a token', () => {
  it('comes from a file or the environment', () => {
    const file = join(temporaryFolder(), 'token')
    writeFileSync(file, 'secret\n')
    expect(tokenOf(flagsOf(['--token-file', file]))).toBe('secret')
    expect(tokenOf(flagsOf([], { WEIR_TOKEN: 'secret' }))).toBe('secret')
    expect(tokenOf(flagsOf([]))).toBeUndefined()
  })

  it('is refused on the command line, with the way out', () => {
    expect(() => flagsOf(['--token', 'secret'])).toThrow(/WEIR_TOKEN or use --token-file/)
  })

  it('is never empty', () => {
    const file = join(temporaryFolder(), 'token')
    writeFileSync(file, '\n')
    expect(() => tokenOf(flagsOf(['--token-file', file]))).toThrow(/is empty/)
    expect(() => flagsOf([], { WEIR_TOKEN: '' })).toThrow(/WEIR_TOKEN is empty/)
  })
})
