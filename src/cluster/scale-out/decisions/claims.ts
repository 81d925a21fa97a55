import type { MemberData } from './member-data.ts'

/** Who owns each partition by the claims of all living members. */
export interface Ownership {
  /** Place of the owner in the list of members, for each partition; -1 for none. */
  readonly owners: readonly number[]
  /** Whether some living member, also one that takes no part, runs it: no other one may get it in this round. */
  readonly claimed: readonly boolean[]
}

/**
 * Ownership by claims. Of two members that claim one partition the one with the newer generation owns it: the
 * other was away while it was given. With equal generations neither owns it: both stop it, and its pointer
 * decides where the next owner goes on. `outsiders` are members that take no part but may still run something.
 */
export function ownershipOf(
  members: readonly MemberData[],
  outsiders: readonly MemberData[],
  partitions: number,
): Ownership {
  const owners = Array.from({ length: partitions }, () => -1)
  const newest = Array.from({ length: partitions }, () => -1)
  for (const [place, { owned, generation = -1 }] of members.entries()) {
    for (const partition of owned) {
      if (generation < newest[partition]!) continue
      owners[partition] = generation === newest[partition] ? -1 : place
      newest[partition] = generation
    }
  }
  const claimed = newest.map((generation) => generation >= 0)
  for (const { owned } of outsiders) {
    for (const partition of owned) if (partition < partitions) claimed[partition] = true
  }
  return { owners, claimed }
}
