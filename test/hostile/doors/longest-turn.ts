import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '../../run/until.ts'

/** Environment of a server whose turns are measured; `folder` gets them. */
export function turnsMeasured(folder: string): Readonly<Record<string, string>> {
  const watch = new URL('turn-watch.ts', import.meta.url).href
  return { WEIR_TURNS: folder, NODE_OPTIONS: `--import=${watch}` }
}

/**
 * The longest turn of the event loop of a process since the last time, in ms of its processor time. 0 for a process that
 * has ended.
 */
export async function longestTurn(folder: string, pid: number): Promise<number> {
  const file = join(folder, `turns-${pid}`)
  rmSync(file, { force: true })
  try {
    process.kill(pid, 'SIGUSR2')
    await until(
      'the process says how long its turns were',
      () => existsSync(file) && readFileSync(file, 'utf8') !== '',
      {
        timeoutMs: 30_000,
        everyMs: 5,
      },
    )
    return Number(readFileSync(file, 'utf8'))
  } catch {
    return 0
  }
}
