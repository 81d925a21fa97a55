import { readFileSync } from 'node:fs'

/** Resident bytes of a process, shared memory included: now (`VmRSS`), or the most so far (`VmHWM`). Needs Linux. */
export function residentBytes(pid: number, what: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`${what}:\\s+(\\d+) kB`).exec(status)?.[1] ?? Number.NaN) * 1024
}
