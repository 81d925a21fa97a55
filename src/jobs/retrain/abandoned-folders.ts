import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Age after which a folder whose process has ended is deleted, ms. */
const ABANDONED_MS = 3_600_000

/** Deletes the folders of trainings that were killed. */
export async function removeAbandoned(temporary: string, nowMs: number): Promise<void> {
  await mkdir(temporary, { recursive: true })
  for (const name of await readdir(temporary)) {
    const folder = join(temporary, name)
    const { mtimeMs } = await stat(folder).catch(() => ({ mtimeMs: nowMs }))
    // A running training writes its files within minutes; nothing else says who owns a folder.
    if (nowMs - mtimeMs > ABANDONED_MS && !isRunning(name)) {
      await rm(folder, { recursive: true, force: true })
    }
  }
}

/** Whether the process of a folder `<process id>-<name>` runs on this machine. */
function isRunning(folder: string): boolean {
  try {
    return process.kill(Number.parseInt(folder, 10), 0)
  } catch {
    return false
  }
}
