import type { DeliveryGuarantee } from '../../src/operators/port/sink.ts'

/** Records that were written to the input of the copies job. */
export interface CopiedRecords {
  /** Each must be in the output. */
  readonly kept: readonly string[]
  /** A broker may have lost their copies, or the records themselves. */
  readonly mayBeLost: readonly string[]
}

/** Result of a comparison of copies with their records. */
export interface CopiesCheck {
  readonly lost: number
  readonly duplicated: number
  /** Number of copies of no record. */
  readonly unknown: number
}

/** Compares the copies in an output topic with the records. Pure. */
export function checkCopies(
  copies: readonly string[],
  { kept, mayBeLost }: CopiedRecords,
  guarantee: DeliveryGuarantee,
): CopiesCheck {
  const times = new Map([...kept, ...mayBeLost].map((record) => [record, 0]))
  let unknown = 0
  for (const copy of copies) {
    const before = times.get(copy)
    if (before === undefined) unknown += 1
    else times.set(copy, before + 1)
  }
  let duplicated = 0
  for (const found of times.values()) duplicated += Math.max(0, found - 1)
  return {
    lost: kept.filter((record) => times.get(record) === 0).length,
    duplicated: guarantee === 'exactly-once' ? duplicated : 0,
    unknown,
  }
}
