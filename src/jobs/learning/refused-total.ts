import type { OperatorCoordinator } from '../../runtime/protocol/operator-coordinator.ts'
import type { RefusedReport } from './refused.ts'

/** The observations that all subtasks of a job together have refused in an attempt, as far as they have said. */
export class RefusedTotal {
  private readonly counts = new Map<string, number>()

  /** An attempt begins: its counters are new. */
  clear(): void {
    this.counts.clear()
  }

  /** The report of one subtask with the count of all. */
  with(subtask: string, report: RefusedReport): RefusedReport {
    this.counts.set(subtask, report.count)
    const count = [...this.counts.values()].reduce((sum, each) => sum + each, 0)
    return { ...report, count }
  }
}

/** The coordinator of an operator that only reports what it refuses. */
export function refusedCoordinator(
  onRefused: (refused: RefusedReport) => void,
): OperatorCoordinator {
  const total = new RefusedTotal()
  return {
    start: () => total.clear(),
    handleEvent: (subtask, event) => onRefused(total.with(String(subtask), event as RefusedReport)),
  }
}

/** One line for the person who runs the job. */
export function refusedText(
  { count, reason, partition, offset }: RefusedReport,
  topics: { readonly observations: string; readonly quarantine: string | undefined },
): string {
  const { observations, quarantine } = topics
  const records = count === 1 ? '1 record' : `${count.toLocaleString('en-US')} records`
  const place =
    quarantine === undefined ? '--quarantine TOPIC keeps them' : `topic ${quarantine} has them`
  return `refused ${records} of topic ${observations} since the start, the latest at ${partition}:${offset} (${reason}); ${place}`
}
