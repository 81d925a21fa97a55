import { createServer } from 'node:net'

/** Flink's port of queryable state; the first job of a JobManager gets it. */
const FIRST_PORT = 9069
/** Ports that are tried. */
const TRIED = 100

/** The lowest port from 9069 on that no other job has and that is free now; 0 if there is none. */
export async function freeQueryPort(taken: readonly number[]): Promise<number> {
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
