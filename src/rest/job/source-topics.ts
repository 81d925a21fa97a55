import type { Source, SplitBounds } from '../../operators/port/source.ts'
import type { JobExecution } from '../../runtime/job/execution.ts'
import type { ProgressBoard } from '../../state/catalog/progress-board.ts'
import type { SourceTopicView, TopicPartitionView } from '../port/job-data.ts'

/** The sources of a job that read topics. Rejects with the error of the first topic that cannot be read. */
export async function sourceTopics({
  plan,
  board,
}: Pick<JobExecution, 'plan' | 'board'>): Promise<readonly SourceTopicView[]> {
  const found = plan.chains.flatMap(({ chain: { head } }) => {
    if (head.body.kind !== 'source') return []
    const { source } = head.body
    return source.topic === undefined ? [] : [{ uid: head.uid, name: head.name, source }]
  })
  return await Promise.all(
    found.map(async ({ uid, name, source }) => {
      const number = board.share.sources.findIndex((tracked) => tracked.uid === uid)
      const partitions = await partitionsOf(source, board, number)
      return { uid, name, topic: source.topic!, lag: totalLag(partitions), partitions }
    }),
  )
}

async function partitionsOf(
  source: Source<unknown>,
  board: ProgressBoard,
  number: number,
): Promise<readonly TopicPartitionView[]> {
  const bounds = (await source.bounds?.()) ?? []
  return bounds.map((bound) => {
    const position = appliedPosition(board, number, bound)
    const lag = position === null ? null : Math.max(0, bound.end - position)
    return { ...bound, position, lag }
  })
}

/** The offset before which all slots have applied a partition; null if a slot has not reported it. */
function appliedPosition(
  board: ProgressBoard,
  source: number,
  { partition, start, end }: SplitBounds,
): number | null {
  if (board.share.sources[source]?.tracked !== true || !board.tracks(partition, source)) return null
  let position = Number.POSITIVE_INFINITY
  for (let slot = 0; slot < board.share.slots; slot++) {
    if (!board.hasReported(slot)) return null
    position = Math.min(position, board.nextOffset(slot, partition, source))
  }
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
