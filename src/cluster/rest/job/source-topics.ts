import type { Source, SplitBounds } from '../../../operators/port/source.ts'
import type { JobExecution } from '../../../runtime/job/execution.ts'
import { slotsBehind } from '../../../runtime/subtask/job-plan.ts'
import type { SourceTopicView, TopicPartitionView } from '../port/job-data.ts'

/** What says how far a job has read its sources. */
type SourceFacts = Pick<JobExecution, 'plan' | 'board'>

/** The sources of a job that read topics. Rejects with the error of the first topic that cannot be read. */
export async function sourceTopics(facts: SourceFacts): Promise<readonly SourceTopicView[]> {
  const { plan, board } = facts
  const found = plan.chains.flatMap(({ chain: { head } }) => {
    if (head.body.kind !== 'source') return []
    const { source } = head.body
    return source.topic === undefined ? [] : [{ uid: head.uid, name: head.name, source }]
  })
  return await Promise.all(
    found.map(async ({ uid, name, source }) => {
      const number = board.share.sources.findIndex((tracked) => tracked.uid === uid)
      const partitions = await partitionsOf(source, facts, number)
      return { uid, name, topic: source.topic!, lag: totalLag(partitions), partitions }
    }),
  )
}

async function partitionsOf(
  source: Source<unknown>,
  facts: SourceFacts,
  number: number,
): Promise<readonly TopicPartitionView[]> {
  const bounds = (await source.bounds?.()) ?? []
  return bounds.map((bound) => {
    const position = positionOf(facts, number, bound)
    const lag = position === null ? null : Math.max(0, bound.end - position)
    return { ...bound, position, lag }
  })
}

/**
 * The offset before which all slots with keyed state behind the source have applied a partition; without any such
 * state, the one before which it is read. Null if a slot has not reported it.
 */
function positionOf(
  { plan, board }: SourceFacts,
  number: number,
  { partition, start, end }: SplitBounds,
): number | null {
  const isTracked = board.share.sources[number]?.tracked
  if (isTracked === undefined || !board.tracks(partition, number)) return null
  if ((board.partitionsOf(number) ?? 0) <= partition) return null
  const slots = isTracked ? slotsBehind(plan, number) : board.share.slots
  const positions = Array.from({ length: slots }, (_, slot) =>
    isTracked && !board.hasReported(slot) ? null : board.nextOffset(slot, partition, number),
  )
  if (positions.includes(null) || positions.length === 0) return null
  const known = positions.filter((position) => position !== null)
  const position = isTracked ? Math.min(...known) : Math.max(...known)
  return Math.max(start, Math.min(end, position))
}

function totalLag(partitions: readonly TopicPartitionView[]): number | null {
  let total = 0
  for (const { lag } of partitions) {
    if (lag === null) return null
    total += lag
  }
  return total
}
