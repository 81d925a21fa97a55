import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inProcess } from '../../cli/command-here.ts'
import { needs } from '../../run/needs.ts'
import { hasOpenssl, writeCertificates } from '../../services/certificates.ts'
import { type CommandProcess, type CommandResult, weir } from './command-process.ts'

let folder: string
let data: string
let server: CommandProcess
let port: string
const at = (name: string): string => join(folder, name)

async function run(...args: string[]): Promise<CommandResult> {
  return await inProcess(args)
}

async function token(role: string, ...flags: string[]): Promise<string> {
  const words = ['token', 'create', '--role', role, '--file', at('tokens.json'), ...flags]
  return (await run(...words)).stdout.trim()
}

/** Asks the server with a token; `flags` say how to encrypt, and how long to wait. */
async function predict(secret: string, ...flags: string[]): Promise<CommandResult> {
  writeFileSync(at('token'), secret)
  const patient = flags.includes('--timeout') ? [] : ['--timeout', '60000']
  const words = ['predict', '1', '2', '--port', port, ...patient]
  return await run(...words, '--token-file', at('token'), ...flags)
}

const trusting = (): string[] => ['--query-tls-ca', at('ca.crt')]
const asClient = (): string[] => [
  ...trusting(),
  ...['--query-tls-cert', at('client.crt'), '--query-tls-key', at('client.key')],
]

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-access-'))
  data = at('data')
  const ratings = ['generate', 'ratings', '--users', '30', '--items', '20', '--ratings', '600']
  await run(...ratings, '--output', at('ratings.data'))
  const train = ['train', 'als', '--ratings', at('ratings.data'), '--factors', '4']
  await run(...train, '--iterations', '2', '--threads', '0', '--data-dir', data)
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const start = (...flags: string[]): CommandProcess =>
  weir([
    'run',
    'als-serving',
    '--data-dir',
    data,
    '--port',
    '0',
    '--json',
    '-D',
    'rest.port=0',
    ...flags,
  ])

describe('a query port that other machines could reach', () => {
  it.each([
    ['nothing', () => [], 'without TLS and tokens'],
    ['a token alone', () => ['--tokens', at('tokens.json')], 'without TLS'],
  ])('does not open with %s', async (_, flags, reason) => {
    await token('read')
    const { code, stderr } = await start('--host', '0.0.0.0', ...flags()).ended
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(reason) })
    expect(stderr).toContain('--insecure-listener')
  })

  it('opens with --insecure-listener, and warns at each start', async () => {
    for (let time = 0; time < 2; time++) {
      await using open = start('--host', '0.0.0.0', '--insecure-listener')
      await open.printed(
        /warning: the query port on 0\.0\.0\.0 is insecure: .*no tokens and no TLS/,
      )
      port = (await open.printed(/"started","port":(\d+)/))[1]!
      await open.printed(/"event":"live"|"started"/)
    }
  })

  it('does not open with a tokens file that has no tokens', async () => {
    const file = at('none.json')
    writeFileSync(file, '{"version":1,"tokens":[]}')
    const { code, stderr } = await start('--tokens', file).ended
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('has no tokens') })
  })
})

describe('the REST interface of a job that other machines could reach', () => {
  it('does not open without TLS and tokens, and says which settings it needs', async () => {
    const { code, stderr } = await start('-D', 'rest.bind-address=0.0.0.0').ended
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining('-D rest.tls.cert=FILE and -D rest.tls.key=FILE'),
    })
  })

  it('opens with rest.insecure-listener, and warns', async () => {
    await using open = start('-D', 'rest.bind-address=0.0.0.0', '-D', 'rest.insecure-listener=true')
    await open.printed(
      /warning: the REST interface on 0\.0\.0\.0 is insecure: .*no tokens and no TLS/,
    )
    await open.printed(/"event":"rest","url":"http:/)
  })

  it('names the key of a file that cannot be read', async () => {
    const { code, stderr } = await start('-D', `rest.tls.cert=${at('no.crt')}`).ended
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(/rest\.tls\.(cert|key)/),
    })
  })
})

describe(
  'a query port with TLS, client certificates and tokens',
  needs(await hasOpenssl(), 'openssl makes no certificates here'),
  () => {
    let reader: string

    beforeAll(async () => {
      await writeCertificates(folder)
      reader = await token('read', '--name', 'reader')
      server = start(
        ...['--host', '0.0.0.0', '--tokens', at('tokens.json')],
        ...['--server-tls-cert', at('server.crt'), '--server-tls-key', at('server.key')],
        ...['--server-tls-ca', at('ca.crt'), '-D', 'rest.bind-address=0.0.0.0'],
        ...['-D', `rest.tls.cert=${at('server.crt')}`, '-D', `rest.tls.key=${at('server.key')}`],
        ...['-D', `rest.tls.ca=${at('ca.crt')}`],
      )
      port = (await server.printed(/"started","port":(\d+)/))[1]!
      await server.printed(/"event":"live"/)
    })

    afterAll(async () => {
      server.signal('SIGINT')
      const { code, stderr } = await server.ended
      expect(code).toBe(0)
      expect(stderr).not.toContain('insecure')
      expect(stderr).not.toContain(reader)
    })

    it('answers a client with a certificate and a token', async () => {
      const { code, stdout } = await predict(reader, ...asClient())
      expect({ code, stdout }).toEqual({
        code: 0,
        stdout: expect.stringMatching(/^2 .*version 1$/m),
      })
    })

    it('refuses a client without a certificate, without TLS, or that does not trust the server', async () => {
      for (const flags of [trusting(), [], ['--query-tls']]) {
        const { code, stderr } = await predict(reader, ...flags, '--timeout', '3000')
        expect({ flags, code, stderr }).toMatchObject({
          code: 1,
          stderr: expect.stringMatching(/UNAVAILABLE|PROTOCOL/),
        })
      }
    })

    it('refuses a wrong token and none, and does not repeat it', async () => {
      const forged = `${reader.slice(0, -3)}abc`
      const { code, stderr } = await predict(forged, ...asClient())
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: expect.stringContaining('UNAUTHENTICATED'),
      })
      expect(stderr).not.toContain(forged.slice(18))
      const none = await run('predict', '1', '2', '--port', port, ...asClient())
      expect(none.stderr).toContain('UNAUTHENTICATED')
    })

    it('opens the REST interface of the job with TLS to client certificates and the same tokens', async () => {
      const [, url] = await server.printed(/"event":"rest","url":"(https:[^"]+)"/)
      const asking = async (token?: string, method = 'GET', cert = true) => {
        const path = method === 'GET' ? '/overview' : '/cluster'
        const [answer] = (await once(
          request({
            ...{ host: '127.0.0.1', port: new URL(url!).port, path, method, agent: false },
            ca: readFileSync(at('ca.crt')),
            ...(cert
              ? { cert: readFileSync(at('client.crt')), key: readFileSync(at('client.key')) }
              : {}),
            headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
          }).end(),
          'response',
        )) as [IncomingMessage]
        answer.resume()
        return answer.statusCode
      }
      expect(await asking()).toBe(401)
      expect(await asking('guess')).toBe(401)
      expect(await asking(reader)).toBe(200)
      expect(await asking(reader, 'DELETE')).toBe(403)
      await expect(asking(reader, 'GET', false)).rejects.toThrow()
    })

    it('accepts a new token and refuses a revoked one without a restart', async () => {
      const other = await token('write')
      await expect.poll(async () => (await predict(other, ...asClient())).code).toBe(0)
      await run('token', 'revoke', other.split('_')[1]!, '--file', at('tokens.json'))
      await expect
        .poll(async () => (await predict(other, ...asClient())).stderr)
        .toContain('UNAUTHENTICATED')
      expect((await predict(reader, ...asClient())).code).toBe(0)
    })

    it('keeps the tokens of before when the file is broken, and says so', async () => {
      const whole = readFileSync(at('tokens.json'))
      writeFileSync(at('tokens.json'), 'broken')
      await server.printed(/warning: the tokens of before stay accepted, because .*not JSON/)
      expect((await predict(reader, ...asClient())).code).toBe(0)
      writeFileSync(at('tokens.json'), whole)
    })

    it('shows no token in the list of processes', async () => {
      const { stdout } = await promisify(execFile)('ps', ['-eo', 'args'])
      expect(stdout).not.toContain(reader)
    })
  },
)
