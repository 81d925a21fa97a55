import { createHash } from 'node:crypto'

/** A part file of an archive: some offsets of one partition of a topic. */
export interface ArchivePart {
  readonly partition: number
  readonly from: number
  /** The offset after the last one. */
  readonly to: number
  /** `archiveDigest` of the topic's id. */
  readonly topic: string
}

const NAME = /^part-(\d+)-(\d+)-(\d+)-([0-9a-f]{8})\.txt$/

/** The name of a part file. Sorted by name, the files of a partition are in the order of its records. */
export function partName({ partition, from, to, topic }: ArchivePart): string {
  const offset = (number: number): string => String(number).padStart(20, '0')
  return `part-${String(partition).padStart(5, '0')}-${offset(from)}-${offset(to)}-${topic}.txt`
}

/** The part of a file name, or of a place that ends with one; undefined for other files. */
export function partOf(place: string): ArchivePart | undefined {
  const name = place.replace(/\?.*$/, '').split('/').at(-1)!
  const match = NAME.exec(name)
  if (match === null) return undefined
  const [, partition, from, to, topic] = match
  return { partition: Number(partition), from: Number(from), to: Number(to), topic: topic! }
}

/** What names of part files say of the id of their topic. */
export function archiveDigest(topicId: string): string {
  return createHash('sha256').update(topicId).digest('hex').slice(0, 8)
}
