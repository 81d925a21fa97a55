import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the ports that systems give to connections and to port 0 (Linux: from 32768 on). */
const LAST_PORT = 32_000
const FIRST_PORT = 12_000

/**
 * Different ports of 127.0.0.1 that were free just before. No connection gets one of them by chance before its
 * owner listens.
 */
export async function freePorts(count: number): Promise<number[]> {
  const found = new Set<number>()
  while (found.size < count) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT))
    if (!found.has(port) && (await isFree(port))) found.add(port)
  }
  return [...found]
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
