import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'

/*
 * Loaded before a server: measures the longest turn of its event loop, in processor time of its main thread, so that a
 * turn in which the system let another process run is not long. SIGUSR2 writes it to a file, in ms, and begins anew.
 */

/** Time between two looks, ms. */
const EVERY_MS = 2

/** Name of the file of a process. */
const fileOf = (folder: string, pid: number): string => join(folder, `turns-${pid}`)

if (isMainThread) {
  const folder = process.env['WEIR_TURNS']!
  let longestMs = 0
  let before = cpuMs()
  setInterval(() => {
    const now = cpuMs()
    longestMs = Math.max(longestMs, now - before)
    before = now
  }, EVERY_MS).unref()
  process.on('SIGUSR2', () => {
    writeFileSync(fileOf(folder, process.pid), String(longestMs))
    longestMs = 0
  })
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
