import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { until } from '../run/until.ts'

/** Longest download, of an interpreter with many packages. */
const LONGEST_MS = 600_000

/**
 * Runs work that only one process may do at a time, such as a download that test files share. The file `lock` has the
 * id of the process that works; it is ignored once that process has ended.
 */
export async function oneAtATime<T>(lock: string, work: () => Promise<T>): Promise<T> {
  await mkdir(dirname(lock), { recursive: true })
  const options = { timeoutMs: LONGEST_MS, everyMs: 100 }
  await until(`${lock} is free`, () => take(lock), options)
  try {
    return await work()
  } finally {
    await rm(lock, { force: true })
  }
}

async function take(lock: string): Promise<boolean> {
  try {
    await writeFile(lock, String(process.pid), { flag: 'wx' })
    return true
  } catch {
    const owner = Number(await readFile(lock, 'utf8').catch(() => ''))
    if (owner > 0 && !isRunning(owner)) await rm(lock, { force: true })
    return false
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
