import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { secretFileWarnings } from '../../../src/cli/command/secret-files.ts'
import { runCommandLine } from '../../../src/cli/run-command-line.ts'
import { temporaryFolder } from '../../connectors/log/fixture.ts'
import { recordedIo } from '../recorded-io.ts'

function fileWith(mode: number): string {
  const file = join(temporaryFolder(), 'secret')
  writeFileSync(file, 'x')
  chmodSync(file, mode)
  return file
}

describe('a file with a secret', () => {
  it.each([
    'token-file',
    'sasl-password-file',
    'server-tls-key',
    'tls-key',
    'query-tls-key',
    'jobmanager-tls-key',
  ])('that others can read is warned about: --%s', (flag) => {
    for (const mode of [0o644, 0o640, 0o604]) {
      const file = fileWith(mode)
      const shown = mode.toString(8)
      expect(secretFileWarnings({ [flag]: file })).toEqual([
        `other users of this machine can read --${flag} ${file} (mode 0${shown}); run "chmod 600 ${file}"`,
      ])
    }
    expect(secretFileWarnings({ [flag]: fileWith(0o600) })).toEqual([])
    expect(secretFileWarnings({ [flag]: '/no/such/file' })).toEqual([])
    expect(secretFileWarnings({ [flag]: undefined })).toEqual([])
  })

  it('of hashes may be read by others, and is warned about when they can change it', () => {
    for (const flag of ['tokens', 'people']) {
      expect(secretFileWarnings({ [flag]: fileWith(0o644) })).toEqual([])
      expect(secretFileWarnings({ [flag]: fileWith(0o664) })).toEqual([
        expect.stringContaining(`can change --${flag}`),
      ])
    }
  })

  it('is warned about by each command that is given one', async () => {
    const { io, err } = recordedIo()
    const words = ['predict', '1', '2', '--port', '1', '--timeout', '1']
    await runCommandLine([...words, '--token-file', fileWith(0o644)], io)
    expect(err[0]).toMatch(/^warning: other users .* --token-file/)
  })

  it('is refused with --strict-secrets, before the command runs', async () => {
    const { io, err } = recordedIo()
    const words = ['predict', '1', '2', '--port', '1', '--strict-secrets']
    expect(await runCommandLine([...words, '--token-file', fileWith(0o644)], io)).toBe(2)
    expect(err).toEqual([expect.stringMatching(/^weir: other users .* --token-file .*chmod 600/)])
  })
})
