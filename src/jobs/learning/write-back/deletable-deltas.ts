/**
 * By partition of the deltas topic, the first offset that someone still needs: the lowest one of all readers. A
 * reader is a durable write-back, which includes the deltas below, or a retained checkpoint, which continues
 * there. 0 where a reader has no offset (-1 or none): it may begin at the first delta.
 */
export function deletableDeltas(readers: readonly (readonly number[])[]): readonly number[] {
  const partitions = Math.max(0, ...readers.map(({ length }) => length))
  return Array.from({ length: partitions }, (_, partition) =>
    Math.max(0, Math.min(...readers.map((next) => next[partition] ?? 0))),
  )
}
