/** The live version of the registry. */
export interface DesiredVersion {
  /** 0 before the first promotion. */
  readonly live: number
  readonly rollback: number
}

/** Facts for the decision. */
export interface LiveFacts {
  /** Version that is live now, 0 for none. */
  readonly live: number
  /** Versions that are complete on every slot and are no candidates. */
  readonly published: readonly number[]
  /** Versions that are complete on every slot. */
  readonly ready: readonly number[]
  /** Undefined where no registry has the model. */
  readonly desired: DesiredVersion | undefined
}

/** What to do with the live version. */
export type LiveDecision =
  | { readonly kind: 'keep' }
  | { readonly kind: 'switch'; readonly version: number }

/**
 * Which version is to be live: the live version of the registry, as soon as it is complete. Until then the
 * current one stays live, or the rollback target where none is live. Without a registry it is the highest.
 */
export function decideLive(facts: LiveFacts): LiveDecision {
  const { live, desired } = facts
  if (desired === undefined) {
    const highest = Math.max(0, ...facts.published)
    return highest > live ? { kind: 'switch', version: highest } : { kind: 'keep' }
  }
  const wanted = [desired.live, ...(live === 0 ? [desired.rollback] : [])]
  const version = wanted.find((each) => each > 0 && facts.ready.includes(each))
  if (version === undefined || version === live) return { kind: 'keep' }
  return { kind: 'switch', version }
}
