import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { portUse } from '../../../src/cli/doctor/ports.ts'

describe('the use of a port', () => {
  it('is seen by opening it, and the port is free again afterwards', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    expect(await portUse(port)).toEqual({ kind: 'used' })
    server.close()
    await once(server, 'close')
    expect(await portUse(port)).toEqual({ kind: 'free' })
    expect(await portUse(port)).toEqual({ kind: 'free' })
  })
})
