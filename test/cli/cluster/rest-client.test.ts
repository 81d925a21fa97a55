import { createServer as createTlsServer } from 'node:https'
import { describe, expect, it } from 'vitest'
import { RestClient } from '../../../src/cli/cluster/rest-client.ts'
import { Flags } from '../../../src/cli/command/command.ts'
import { parseCommandLine } from '../../../src/cli/command/parse.ts'
import { listCommand } from '../../../src/cli/jobmanager/list.ts'
import { createServer } from '../../../src/http/builtin.ts'

const clientOf = (...argv: readonly string[]): RestClient =>
  RestClient.of(new Flags(parseCommandLine(listCommand, argv).flags))

/** A file that can be read, but is no certificate. */
const file = import.meta.filename

describe('the client of a JobManager', () => {
  it.each([
    [['--jobmanager-tls-cert', file], '--jobmanager-tls-cert needs --jobmanager-tls-key'],
    [['--jobmanager-tls-key', file], '--jobmanager-tls-key needs --jobmanager-tls-cert'],
    [['--jobmanager-tls-ca', '/none'], '--jobmanager-tls-ca: cannot read /none'],
    [['-m', 'http://x:1', '--jobmanager-tls'], 'http://x:1 is without TLS'],
    [['-m', 'x:y'], '--jobmanager must be HOST:PORT, a port of this machine, or'],
  ])('refuses %j', (argv, message) => {
    expect(() => clientOf(...argv)).toThrow(message)
  })

  it('says how to start a JobManager where nothing listens', async () => {
    await expect(clientOf('-m', '127.0.0.1:1').jobs()).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringMatching(
        /^nothing answers at http:\/\/127\.0\.0\.1:1 .*weir cluster start/,
      ),
    })
  })

  it('says that the port speaks plain HTTP where TLS was asked for', async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { readonly port: number }
    try {
      for (const flags of [['--jobmanager-tls'], ['--jobmanager-tls-ca', file]]) {
        const jobs = clientOf('-m', `127.0.0.1:${port}`, ...flags).jobs()
        await expect(jobs).rejects.toMatchObject({
          code: 'UNAVAILABLE',
          message: expect.stringContaining('speaks plain HTTP, and TLS was asked for'),
        })
      }
    } finally {
      server.close()
    }
  })

  it('says that the port probably speaks TLS where plain HTTP was asked for', async () => {
    const server = createTlsServer({}, () => {})
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { readonly port: number }
    try {
      await expect(clientOf('-m', String(port)).jobs()).rejects.toMatchObject({
        code: 'UNAVAILABLE',
        message: expect.stringMatching(/does not answer in plain HTTP .*give --jobmanager-tls/),
      })
    } finally {
      server.close()
    }
  })

  it.each([
    [{ 'rest.port': '39481' }, '127.0.0.1:39481'],
    [{ 'rest.port': '8090-8099', 'rest.bind-address': '0.0.0.0' }, '127.0.0.1:8090'],
    [{ 'rest.port': '39481', 'rest.bind-address': '::1' }, '[::1]:39481'],
    [{}, '127.0.0.1:8081'],
  ])('asks where the keys %j of weir.yaml let a JobManager listen', (configuration, address) => {
    const settings = { flags: {}, configuration }
    const parse = (...argv: readonly string[]) =>
      parseCommandLine(listCommand, argv, () => settings as never).flags['jobmanager']
    expect(parse()).toBe(address)
    expect(parse('-m', 'other:1')).toBe('other:1')
  })

  it('sends the body and the token, and reads an error of the answer', async () => {
    const server = createServer((request, response) => {
      void (async () => {
        const chunks: Buffer[] = []
        for await (const chunk of request) chunks.push(chunk as Buffer)
        const { authorization } = request.headers
        const seen = [request.method, request.url, authorization, Buffer.concat(chunks).toString()]
        response.statusCode = request.url === '/missing' ? 404 : 200
        const errors = ['NOT_FOUND: there is none']
        response.end(JSON.stringify(request.url === '/missing' ? { errors } : seen))
      })()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { readonly port: number }
    try {
      const client = new RestClient(`http://127.0.0.1:${port}`, { token: 'secret' })
      expect(await client.request('POST', '/jobs', { job: 'ä' })).toEqual([
        ...['POST', '/jobs', 'Bearer secret', '{"job":"ä"}'],
      ])
      await expect(client.request('GET', '/missing')).rejects.toMatchObject({
        code: 'NOT_FOUND',
        message: 'there is none',
      })
    } finally {
      server.close()
    }
  })
})
