import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { Flags } from '../../../src/cli/command/command.ts'
import { parseCommandLine } from '../../../src/cli/command/parse.ts'
import { readSettings } from '../../../src/cli/command/settings.ts'
import {
  allowedOriginsOf,
  listenerOf,
  ownClientOptions,
  withOwnToken,
} from '../../../src/cli/flags/listener.ts'
import { runCommand } from '../../../src/cli/verbs/run.ts'
import { recordedIo } from '../recorded-io.ts'

function accessOf(argv: readonly string[], env: Record<string, string> = {}) {
  const parsed = parseCommandLine(runCommand, argv, (file) => readSettings(env, file))
  return listenerOf(new Flags(parsed.flags), recordedIo().io)
}

const folder = mkdtempSync(join(tmpdir(), 'weir-listener-'))
afterAll(() => rmSync(folder, { recursive: true }))

const file = (name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

describe('the flags of a listener', () => {
  it('default to the loopback interface without tokens', () => {
    expect(accessOf([])).toMatchObject({ host: '127.0.0.1', insecureListener: false })
    expect(accessOf([])).not.toHaveProperty('tls')
  })

  it('name the proxies before the HTTP ports', () => {
    const { trustedProxies } = accessOf(['--trusted-proxy', '10.0.0.5,10.1.0.0/16'])
    expect(trustedProxies).toEqual(['10.0.0.5', '10.1.0.0/16'])
    expect(accessOf([])).not.toHaveProperty('trustedProxies')
  })

  it('read certificate, key and authority', () => {
    const [cert, key, ca] = [file('cert', 'C'), file('key', 'K'), file('ca', 'A')]
    const both = ['--server-tls-cert', cert, '--server-tls-key', key]
    expect(accessOf(both).tls).toEqual({ cert: 'C', key: 'K' })
    expect(accessOf([...both, '--server-tls-ca', ca]).tls).toEqual({ cert: 'C', key: 'K', ca: 'A' })
  })

  it('come from the environment, too', () => {
    const env = { WEIR_TOKENS: 'tokens.json', WEIR_INSECURE_LISTENER: 'true', WEIR_TOKEN: 'secret' }
    expect(accessOf([], env)).toMatchObject({
      tokensFile: 'tokens.json',
      insecureListener: true,
      token: 'secret',
    })
  })

  it('need certificate and key together, also as settings', () => {
    expect(() => accessOf([], { WEIR_SERVER_TLS_CERT: file('cert', 'C') })).toThrow('both')
  })

  it.each([
    [
      'a certificate without a key',
      () => ['--server-tls-cert', file('cert', 'C')],
      'needs --server-tls-key FILE',
    ],
    [
      'an authority alone',
      () => ['--server-tls-ca', file('ca', 'A')],
      'needs --server-tls-cert FILE',
    ],
    [
      'a missing file',
      () => ['--server-tls-cert', join(folder, 'none'), '--server-tls-key', 'k'],
      'cannot read',
    ],
  ])('refuse %s', (_, argv, message) => {
    expect(() => accessOf(argv())).toThrow(message)
  })
})

describe('the origins of other pages', () => {
  const originsOf = (argv: readonly string[], hasTokens: boolean) =>
    allowedOriginsOf(new Flags(parseCommandLine(runCommand, argv).flags), hasTokens)

  it('are none, or those that are named; all of them need tokens', () => {
    expect(originsOf([], false)).toEqual([])
    const http = ['--http', '127.0.0.1:0', '--allow-origin']
    const named = ['https://a.example', 'http://localhost:5173']
    expect(originsOf([...http, named.join()], false)).toEqual(named)
    expect(originsOf([...http, '*'], true)).toEqual(['*'])
    expect(() => originsOf([...http, '*'], false)).toThrow('or give --tokens FILE, too')
    expect(() => originsOf(['--allow-origin', '*'], true)).toThrow('needs --http')
  })
})

describe('a command that uses its own port', () => {
  it('has its own token where the others need one, and none elsewhere', () => {
    const own = withOwnToken({ tokensFile: 'tokens.json' })
    expect(own.token).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(withOwnToken({ tokensFile: 'f', token: 'secret' }).token).toBe('secret')
    expect(withOwnToken({})).toEqual({})
  })

  it('trusts its own certificate, whatever name is in it', () => {
    const options = ownClientOptions({ host: 'h', token: 't', tls: { cert: 'C', key: 'K' } }, 7)
    expect(options).toMatchObject({ host: 'h', port: 7, token: 't', tls: { ca: 'C' } })
    expect(ownClientOptions({}, 7)).toEqual({ port: 7 })
  })
})
