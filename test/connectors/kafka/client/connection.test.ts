import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import { kafkaConnector, parseBrokers } from '../../../../src/connectors/kafka/client/connection.ts'
import type { KafkaClientOptions } from '../../../../src/connectors/kafka/client/options.ts'

/** Connects to a server as to a broker; resolves with what went wrong. */
async function connectTo(server: Server, options: Partial<KafkaClientOptions>): Promise<unknown> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const client = { brokers: `127.0.0.1:${port}`, requestTimeoutMs: 5_000, ...options }
  const connecting = kafkaConnector(client)(
    { host: '127.0.0.1', port },
    new AbortController().signal,
  )
  return await connecting.then(
    () => undefined,
    (error: unknown) => error,
  )
}

describe('a listener that speaks in another way than was asked for', () => {
  it('is said to speak TLS, by its alert', async () => {
    // What Java and OpenSSL answer to bytes that are no TLS.
    const alert = Buffer.from([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x46])
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => socket.end(alert))
    })
    expect(await connectTo(server, {})).toMatchObject({
      code: 'CONNECTOR_FAILED',
      message: expect.stringMatching(/speaks TLS, and plain was asked for; .*--tls-ca FILE/),
    })
  })

  it('may speak TLS where it closes the connection before a word', async () => {
    const server = createTlsServer({}, () => {})
    server.on('tlsClientError', () => {})
    expect(await connectTo(server, {})).toMatchObject({
      code: 'CONNECTOR_FAILED',
      message: expect.stringMatching(/speaks TLS, (and plain was asked for; )?ask for it with/),
    })
  })

  it.each([
    ['is said to speak plain', 'no TLS at all', 'speaks plain, and TLS was asked for; '],
    ['may speak plain', '', 'if the listener speaks plain, '],
  ])('%s where TLS was asked for, by its answer: "%s"', async (_, answer, said) => {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => socket.end(Buffer.from(answer)))
    })
    expect(await connectTo(server, { tls: {} })).toMatchObject({
      code: 'CONNECTOR_FAILED',
      message: expect.stringContaining(`${said}leave out the option tls (--tls`),
    })
  })
})

describe('brokers', () => {
  it('are host and port, IPv6 in brackets', () => {
    expect(parseBrokers('a:1, [::1]:9092')).toEqual([
      { host: 'a', port: 1 },
      { host: '::1', port: 9092 },
    ])
  })

  it.each(['', 'a', 'a:', 'a:0', 'a:70000', '::1:9', 'a:1,'])('are not "%s"', (brokers) => {
    expect(() => parseBrokers(brokers)).toThrow(/write host:port/)
  })
})
