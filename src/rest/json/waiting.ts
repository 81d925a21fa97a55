import type { JobSnapshot } from '../port/job-snapshot.ts'

const OUTAGE = '.brokerOutageMs'
/** A shorter outage is one of the failed attempts that each broker has now and then, ms. */
const LEAST_MS = 3_000

/** For what a running job waits, a sentence an operator: brokers that its sources and sinks cannot reach. */
export function waitingFor({ metrics, status }: Pick<JobSnapshot, 'metrics' | 'status'>): string[] {
  if (status !== 'RUNNING') return []
  const longest = new Map<string, number>()
  for (const [name, ms] of Object.entries(metrics)) {
    if (!name.endsWith(OUTAGE) || ms < LEAST_MS) continue
    // `<uid>.<subtask>.brokerOutageMs`; a uid may have dots.
    const uid = name.slice(0, -OUTAGE.length).replace(/\.\d+$/, '')
    longest.set(uid, Math.max(longest.get(uid) ?? 0, ms))
  }
  return [...longest].map(
    ([uid, ms]) =>
      `${uid} waits for Kafka, for ${Math.floor(ms / 1000)} s; the log says the address and the cause`,
  )
}
