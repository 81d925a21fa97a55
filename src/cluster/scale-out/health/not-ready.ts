import type { MemberState } from '../decisions/member-state.ts'

/** Most job partitions that a sentence names. */
const MOST_NAMED = 8

/**
 * Why a process cannot do its work now, a sentence each; none for one that has joined and whose own job partitions run.
 * A process that owns nothing is ready. Kafka that is away changes nothing: the partitions are there, and wait.
 * @param processing job partitions that process, of those that the state runs
 */
export function notReadyBecause(
  { membership, generation, isLeaving, running }: MemberState,
  processing: readonly number[],
): string[] {
  switch (membership) {
    case 'refused':
      return ['the processes of the job do not take this one']
    case 'left':
      return ['this process has left the group of the job']
    case 'fenced':
      return ['the group of the job has removed this process, which joins again']
    default:
  }
  if (isLeaving) return ['this process hands its job partitions over and ends']
  if (generation === undefined) return ['the group of the job has not taken this process yet']
  const missing = [...running].filter((partition) => !processing.includes(partition))
  return missing.length === 0 ? [] : [startingText(missing.toSorted((a, b) => a - b))]
}

function startingText(partitions: readonly number[]): string {
  const [only, ...others] = partitions
  if (others.length === 0) return `job partition ${only} does not run yet`
  const more = partitions.length - MOST_NAMED
  const named = partitions.slice(0, MOST_NAMED).join(', ')
  return `job partitions ${named}${more > 0 ? ` and ${more} more` : ''} do not run yet`
}
