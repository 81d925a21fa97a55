import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'

const KIB = 1024
const HAS_PROC = process.platform === 'linux'
/** Time between two looks, ms: a file of the system costs some microseconds, a command some milliseconds. */
const LOOK_MS = HAS_PROC ? 10 : 250

/** Memory of another process that is in use now (resident), bytes; undefined when it has ended. */
export async function residentBytesOf(pid: number): Promise<number | undefined> {
  const kib = HAS_PROC ? fromProc(pid) : await fromCommand(pid)
  return kib === undefined ? undefined : kib * KIB
}

function fromProc(pid: number): number | undefined {
  try {
    const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? []
    return kib === undefined ? undefined : Number(kib)
  } catch {
    return undefined
  }
}

/** As systems without `/proc` say it. */
export function fromCommand(pid: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    execFile('ps', ['-o', 'rss=', '-p', String(pid)], (error, text) => {
      resolve(error === null && text.trim() !== '' ? Number(text) : undefined)
    })
  })
}

/** Looks at the memory of a process again and again, and calls `onExceeded` once when it is above the limit. */
export class MemoryWatch implements Disposable {
  private readonly options: {
    readonly pid: number
    readonly limitBytes: number
    readonly bytesOf: (pid: number) => Promise<number | undefined>
    readonly onExceeded: (bytes: number) => void
  }
  private timer: NodeJS.Timeout | undefined
  private isOver = false

  constructor(options: MemoryWatch['options']) {
    this.options = options
    this.schedule()
  }

  [Symbol.dispose](): void {
    this.isOver = true
    clearTimeout(this.timer)
  }

  private schedule(): void {
    this.timer = setTimeout(() => void this.look(), LOOK_MS)
  }

  private async look(): Promise<void> {
    const { pid, limitBytes, bytesOf, onExceeded } = this.options
    const bytes = await bytesOf(pid)
    if (this.isOver || bytes === undefined) return
    if (bytes <= limitBytes) return this.schedule()
    this.isOver = true
    onExceeded(bytes)
  }
}
