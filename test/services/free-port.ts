import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the ports that systems give to connections and to port 0 (Linux: from 32768 on). */
const LAST_PORT = 32_000
const FIRST_PORT = 12_000
/** Shares of the ports, of which each process of a run of tests has one: more than such processes. */
const SHARES = 32

/** Ports that this process has given: their owners may not listen yet. */
const given = new Set<number>()

/**
 * Different ports of 127.0.0.1 that were free just before. No connection gets one of them by chance before its
 * owner listens, and no other file of the run, which may start its services at the same time.
 */
export async function freePorts(count: number): Promise<number[]> {
  const share = Math.floor((LAST_PORT - FIRST_PORT) / SHARES)
  // Not set in the process that lends services.
  const place = Number(process.env['VITEST_POOL_ID'] ?? 0) % SHARES
  const found: number[] = []
  if (given.size + count > share / 2) given.clear()
  while (found.length < count) {
    const port = FIRST_PORT + place * share + Math.floor(Math.random() * share)
    if (given.has(port)) continue
    given.add(port)
    if (await isFree(port)) found.push(port)
  }
  return found
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  await once(server.close(), 'close')
  return true
}
