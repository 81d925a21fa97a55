import type { Clock } from '../../core/clock.ts'
import type { JobLog } from './job-log.ts'

/** Records that are reported one by one before they are counted. */
const ONE_BY_ONE = 5
const EVERY_MS = 10_000

/** Reports dropped records: the first ones, then a count every ten seconds. */
export function droppedReporter(
  log: JobLog,
  clock: Clock,
): (partition: number, offset: number, reason: string) => void {
  let seen = 0
  let unreported = 0
  let isWaiting = false
  const line = (partition: number, offset: number, reason: string): string =>
    `dropped the record at ${partition}:${offset}: ${reason}`
  return (partition, offset, reason) => {
    seen += 1
    if (seen <= ONE_BY_ONE) {
      log.warn(line(partition, offset, reason), { partition, offset })
    } else {
      unreported += 1
      if (isWaiting) return
      isWaiting = true
      clock.after(EVERY_MS, () => {
        log.warn(`dropped ${unreported} more records, ${seen} in all`)
        unreported = 0
        isWaiting = false
      })
    }
  }
}
