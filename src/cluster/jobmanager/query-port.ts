import { createServer } from 'node:net'

/** Flink's port of queryable state; the first job of a JobManager gets it. */
const FIRST_PORT = 9069
/** Ports that are tried. */
const TRIED = 100
/** How often a port is chosen for one start. */
const CHOICES = 5

/**
 * Starts something on the lowest port from 9069 on that is free and none of those that are taken; on port 0 if there is
 * none. Where another process takes the port before it listens, it starts on the next one. Throws the error of the start.
 */
export async function onFreeQueryPort<T>(
  taken: readonly number[],
  start: (port: number) => Promise<T>,
): Promise<T> {
  for (let choice = 1; ; choice++) {
    const port = await freeQueryPort(taken)
    try {
      return await start(port)
    } catch (error) {
      if (port === 0 || choice === CHOICES || (await isFree(port))) throw error
    }
  }
}

async function freeQueryPort(taken: readonly number[]): Promise<number> {
  for (let port = FIRST_PORT; port < FIRST_PORT + TRIED; port++) {
    if (!taken.includes(port) && (await isFree(port))) return port
  }
  return 0
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
