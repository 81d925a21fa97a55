import type {
  AssignmentView,
  PartitionRow,
  ProcessReport,
  ProcessRow,
} from '../../rest/port/scaled-job.ts'
import type { OwnerMap } from '../decisions/assignment-data.ts'

/** What became of the question to a process: its report, or why there is none. */
export type PeerAnswer =
  | { readonly kind: 'report'; readonly report: ProcessReport }
  | {
      readonly kind: 'silent'
      /** Its place in the map of owners. */
      readonly place: number
      /** URL of its REST interface; undefined for one without. */
      readonly rest: string | undefined
      readonly reason: string
    }

/** Who owns what, of the answers of all processes. Where one is silent, the map of owners says what it has. */
export function assignmentView(
  answers: readonly PeerAnswer[],
  {
    applicationId,
    partitions,
    map,
  }: { readonly applicationId: string; readonly partitions: number; readonly map: OwnerMap },
): AssignmentView {
  const processes = answers.map((answer) => processRow(answer, map))
  const rows = new Map<number, PartitionRow>()
  for (const answer of answers) {
    if (answer.kind !== 'report') continue
    const { member, partitions: owned } = answer.report
    for (const row of owned) rows.set(row.partition, { ...row, owner: member })
  }
  for (const { status, member, owned } of processes) {
    if (status === 'answers') continue
    for (const partition of owned) {
      // What another one runs by now is no longer of the one that is silent.
      if (!rows.has(partition)) rows.set(partition, withoutFacts(partition, member))
    }
  }
  const generations = answers.flatMap((answer) =>
    answer.kind === 'report' ? (answer.report.generation ?? []) : [],
  )
  return {
    applicationId,
    generation: generations.length === 0 ? null : Math.max(...generations),
    processes,
    assignment: Array.from(
      { length: partitions },
      (_, partition) => rows.get(partition) ?? withoutFacts(partition, null),
    ),
  }
}

function withoutFacts(partition: number, owner: string | null): PartitionRow {
  const state = owner === null ? 'without owner' : 'unknown'
  return { partition, owner, state, checkpointId: null, checkpointAgeMs: null }
}

function processRow(answer: PeerAnswer, map: OwnerMap): ProcessRow {
  if (answer.kind === 'silent') {
    const { place, rest, reason } = answer
    return {
      member: rest ?? `process ${place}`,
      rest: rest ?? null,
      status: 'silent',
      reason,
      ...{ generation: null, phase: null, isLeader: false, isDraining: false, version: null },
      ...{ slots: 0, host: null, pid: null },
      owned: map.owners.flatMap((owner, partition) => (owner === place ? [partition] : [])),
    }
  }
  const { member, rest, generation, phase, isLeader, isDraining, version, slots } = answer.report
  const { host, pid } = answer.report.job.process
  return {
    ...{ member, rest, status: 'answers', reason: null },
    ...{ generation, phase, isLeader, isDraining, version, slots, host, pid },
    owned: answer.report.partitions.map(({ partition }) => partition),
  }
}
