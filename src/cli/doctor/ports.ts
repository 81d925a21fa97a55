import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Finding } from './finding.ts'
import { type PortUse, portFinding } from './verdicts.ts'

/** Ports of Weir on loopback, and what listens there by default. */
const PORTS: readonly (readonly [number, string])[] = [
  [9069, 'queries'],
  [8081, 'REST and dashboard'],
  [8080, 'gateway'],
]

/** Checks whether the default ports are free. */
export async function checkPorts(): Promise<readonly Finding[]> {
  return await Promise.all(
    PORTS.map(async ([port, role]) => portFinding(port, role, await portUse(port))),
  )
}

/** Who listens on a port of loopback. */
export async function portUse(port: number): Promise<PortUse> {
  const server = createServer()
  try {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return { kind: 'free' }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    return code === 'EADDRINUSE' ? { kind: 'used' } : { kind: 'forbidden', reason: message }
  } finally {
    server.close()
  }
}
