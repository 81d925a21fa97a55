import { existsSync, readFileSync } from 'node:fs'

/** Bytes of resident memory of a process; 0 for one that has ended. */
export function residentBytes(pid: number): number {
  const file = `/proc/${pid}/status`
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return Number(/^VmRSS:\s+(\d+)/m.exec(text)?.[1] ?? 0) * 1024
}
