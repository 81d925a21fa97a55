import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { RestClient } from '../../../src/cli/cluster/rest-client.ts'
import type { JobSnapshot } from '../../../src/cluster/rest/port/job-snapshot.ts'
import { RestServer } from '../../../src/cluster/rest/server/server.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { localSocketPath } from '../../../src/files/local-socket.ts'
import { AccessControl, OPEN_ACCESS, shareAccess } from '../../../src/http/access/control.ts'
import { FakeJob, fakeCluster } from '../../cluster/rest/fake-cluster.ts'
import { SHARED_COMPILERS } from '../../http/shared-compilers.ts'
import { until } from '../../run/until.ts'

/** Connections that one address may have. */
const SHARE = 128

const sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})

/** A job whose state is not known while it is asked for at first, so that these requests stay without an answer. */
class SilentJob extends FakeJob {
  asked = 0
  isSilent = true

  override async snapshot(): Promise<JobSnapshot> {
    this.asked += 1
    if (this.isSilent) await new Promise(() => {})
    return await super.snapshot()
  }
}

const job = new SilentJob()

const start = (access = new AccessControl(OPEN_ACCESS, systemClock)): Promise<RestServer> =>
  RestServer.start({
    cluster: fakeCluster([job]),
    access,
    clock: systemClock,
    host: '127.0.0.1',
    ports: { first: 0, last: 0 },
    compilers: SHARED_COMPILERS,
  })

/** Requests that are being answered, which no new connection pushes out: all that one address may have. */
async function fill(port: number, token = ''): Promise<void> {
  job.asked = 0
  job.isSilent = true
  const fields = `Host: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\n\r\n`
  for (let i = 0; i < SHARE; i++) {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    sockets.push(socket)
    socket.write(`GET /jobs/${job.id} HTTP/1.1\r\n${fields}`)
  }
  await until('each request is being answered', () => job.asked === SHARE)
  job.isSilent = false
  const lost = connect(port, '127.0.0.1').on('error', () => {})
  await once(lost.resume(), 'close')
}

it('commands of the same user reach a process whose port is full', async () => {
  await using rest = await start()
  await fill(rest.port)
  const jobs = await new RestClient(rest.url).jobs()
  expect(jobs).toHaveLength(1)
})

it('the socket is that of its user alone, asks for tokens as the port does, and goes with it', async () => {
  const access = new AccessControl(shareAccess([], 'shared-token'), systemClock)
  const rest = await start(access)
  const path = localSocketPath('127.0.0.1', rest.port, false)!
  expect(statSync(path).mode & 0o777).toBe(0o600)
  await fill(rest.port, 'shared-token')
  await expect(new RestClient(rest.url).jobs()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  const client = new RestClient(rest.url, { token: 'shared-token' })
  expect(await client.jobs()).toHaveLength(1)
  await rest[Symbol.asyncDispose]()
  expect(existsSync(path)).toBe(false)
})
