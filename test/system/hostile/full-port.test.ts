import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { AccessControl, OPEN_ACCESS, shareAccess } from '../../../src/access/control.ts'
import { RestClient } from '../../../src/cli/cluster/rest-client.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { localSocketPath } from '../../../src/files/local-socket.ts'
import { RestServer } from '../../../src/rest/server/server.ts'
import { SHARED_COMPILERS } from '../../http/shared-compilers.ts'
import { FakeJob, fakeCluster } from '../../rest/fake-cluster.ts'

const sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})

const start = (access = new AccessControl(OPEN_ACCESS, systemClock)): Promise<RestServer> =>
  RestServer.start({
    cluster: fakeCluster([new FakeJob()]),
    access,
    clock: systemClock,
    host: '127.0.0.1',
    ports: { first: 0, last: 0 },
    compilers: SHARED_COMPILERS,
  })

/** Requests that are being answered, which no new connection pushes out: all that one address may have. */
async function fill(port: number): Promise<void> {
  for (let i = 0; i < 128; i++) {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    sockets.push(socket)
    await once(socket, 'connect')
    // The body does not come, so that the request is being answered for seconds.
    socket.write('POST /jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n')
    socket.write('Content-Length: 9\r\n\r\n')
  }
}

it('commands of the same user reach a process whose port is full', async () => {
  await using rest = await start()
  await fill(rest.port)
  const lost = connect(rest.port, '127.0.0.1').resume()
  sockets.push(lost)
  await once(
    lost.on('error', () => {}),
    'close',
  )
  const jobs = await new RestClient(rest.url).jobs()
  expect(jobs).toHaveLength(1)
})

it('the socket is that of its user alone, asks for tokens as the port does, and goes with it', async () => {
  const access = new AccessControl(shareAccess([], 'shared-token'), systemClock)
  const rest = await start(access)
  const path = localSocketPath('127.0.0.1', rest.port, false)!
  expect(statSync(path).mode & 0o777).toBe(0o600)
  await fill(rest.port)
  await expect(new RestClient(rest.url).jobs()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  const client = new RestClient(rest.url, { token: 'shared-token' })
  expect(await client.jobs()).toHaveLength(1)
  await rest[Symbol.asyncDispose]()
  expect(existsSync(path)).toBe(false)
})
