import { once } from 'node:events'
import { createServer, get, type IncomingMessage, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { TrustedProxies } from '../../src/http/access/trusted-proxies.ts'
import { clientAddressOf, ForwardedClients } from '../../src/http/client-address.ts'
import { ConnectionShare } from '../../src/http/connection-share.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { until } from '../run/until.ts'
import { ForwardingProxy } from './forwarding-proxy.ts'

const PROXY = '127.0.0.2'

let server: Server
let share: ConnectionShare
let port: number

beforeEach(async () => {
  server = createServer((request, response) => response.end(clientAddressOf(request)))
  const proxies = new TrustedProxies([PROXY])
  share = new ConnectionShare({ most: 4, proxies }, new ManualClock())
  share.attach(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  port = (server.address() as AddressInfo).port
})

afterEach(() => {
  server.closeAllConnections()
  server.close()
  share[Symbol.dispose]()
})

/** Whom the server takes for the client of a request. */
async function seen(
  to: number,
  from: string,
  field?: string,
  name = 'x-forwarded-for',
): Promise<string> {
  const headers = field === undefined ? {} : { [name]: field }
  const options = { host: '127.0.0.1', port: to, localAddress: from, headers, agent: false }
  const [answer] = (await once(get(options), 'response')) as [IncomingMessage]
  return String((await once(answer, 'data'))[0])
}

it('the client of a request is the one that a trusted proxy names, for each request of a kept connection', async () => {
  await using proxy = await ForwardingProxy.open(port, PROXY)
  expect(await seen(proxy.port, '127.0.0.3')).toBe('127.0.0.3')
  expect(await seen(proxy.port, '127.0.0.4')).toBe('127.0.0.4')
  expect(await seen(proxy.port, '127.0.0.4', '9.9.9.9')).toBe('127.0.0.4')
  expect(await seen(port, PROXY)).toBe(PROXY)
})

it('the field Forwarded counts from no client', async () => {
  expect(await seen(port, PROXY, 'for=9.9.9.9', 'forwarded')).toBe(PROXY)
})

it('what another peer says of its client is not believed', async () => {
  expect(await seen(port, '127.0.0.3', '9.9.9.9')).toBe('127.0.0.3')
  await using stranger = await ForwardingProxy.open(port, '127.0.0.5')
  expect(await seen(stranger.port, '127.0.0.3')).toBe('127.0.0.5')
})

it('a peer that is no trusted proxy is named once, with the flag to give', () => {
  const said: string[] = []
  const clients = new ForwardedClients(new TrustedProxies([PROXY]), (line) => said.push(line))
  const note = (remoteAddress: string, field?: string): void => {
    const headers = field === undefined ? {} : { 'x-forwarded-for': field }
    clients.note({ headers, socket: { remoteAddress } } as unknown as IncomingMessage)
  }
  note('127.0.0.3')
  note(PROXY, '9.9.9.9')
  expect(said).toEqual([])
  note('127.0.0.3', '9.9.9.9')
  note('127.0.0.4', '9.9.9.9')
  expect(said).toEqual([expect.stringMatching(/127.0.0.3 .*ignored.*--trusted-proxy 127.0.0.3/)])
})

it('a trusted proxy may have every connection, another address half of them', async () => {
  const sockets: Socket[] = []
  const dial = (localAddress: string): void => {
    sockets.push(
      connect({ port, host: '127.0.0.1', localAddress })
        .on('error', () => {})
        .resume(),
    )
  }
  try {
    for (let i = 0; i < 4; i++) dial('127.0.0.3')
    await until('half of them stay', () => sockets.filter(({ closed }) => closed).length === 2)
    for (const socket of sockets.splice(0)) socket.destroy()
    await until('they are gone', () => share.size === 0)
    for (let i = 0; i < 4; i++) dial(PROXY)
    await until('all of them stay', () => share.size === 4)
  } finally {
    for (const socket of sockets) socket.destroy()
  }
})
