/** What the registry wants to be live. */
export interface DesiredVersion {
  /** 0: nothing was promoted yet. */
  readonly live: number
  readonly rollback: number
}

/** What is known when the live version is decided. */
export interface LiveFacts {
  /** Version that is live now, 0 for none. */
  readonly live: number
  /** Versions that are whole on every slot and are no candidates. */
  readonly published: readonly number[]
  /** Versions that are whole on every slot. */
  readonly ready: readonly number[]
  /** Undefined where no registry knows the model. */
  readonly desired: DesiredVersion | undefined
}

/** What to do with the live version. */
export type LiveDecision =
  | { readonly kind: 'keep' }
  | { readonly kind: 'switch'; readonly version: number }

/**
 * Which version is to be live: what the registry says once it is loaded; until then what is live
 * stays, or, when nothing is, the version before it serves. Without a registry the highest one.
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
