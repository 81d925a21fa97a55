import type { ObservedChoice, Selector, SelectorState } from '../selectors/selector.ts'

/** The context whose state stands for all that have none of their own. */
export const ANY_CONTEXT = '*'

/**
 * States of one selector by context, in memory. A context without one begins with that of `*`, which learns from all. The
 * contexts that were asked for longest ago give way to new ones.
 */
export class ContextStates {
  readonly selector: Selector
  readonly arms: readonly string[]
  private readonly most: number
  private readonly states = new Map<string, SelectorState>()
  private any: SelectorState
  /** Contexts that gave way. */
  evicted = 0

  constructor(selector: Selector, arms: readonly string[], most: number) {
    this.selector = selector
    this.arms = arms
    this.most = most
    this.any = selector.init(arms.length)
  }

  /** Number of contexts with a state of their own. */
  get size(): number {
    return this.states.size
  }

  /** The state of a context. */
  stateOf(context: string): SelectorState {
    const known = this.states.get(context)
    if (known === undefined) return this.any
    this.touch(context, known)
    return known
  }

  /** A choice of a context has had its reward: its state learns, and that of `*`. */
  observe(context: string, choice: ObservedChoice): void {
    const own = context === ANY_CONTEXT ? undefined : (this.states.get(context) ?? this.any)
    this.any = this.selector.observe(this.any, choice)
    if (own === undefined) return
    this.touch(context, this.selector.observe(own, choice))
    if (this.states.size <= this.most) return
    const [oldest] = this.states.keys()
    this.states.delete(oldest!)
    this.evicted++
  }

  /** The same states for other arms, or for other settings of the selector. Arms that come have a fair chance. */
  moved(selector: Selector, arms: readonly string[], most: number): ContextStates {
    const moved = new ContextStates(selector, arms, most)
    const isSame = arms.length === this.arms.length && arms.every((arm, i) => arm === this.arms[i])
    if (selector.name !== this.selector.name) return moved
    const of = (state: SelectorState): SelectorState | undefined =>
      isSame ? state : selector.resize?.(state, this.arms, arms)
    moved.any = of(this.any) ?? moved.any
    for (const [context, state] of this.states) {
      const next = of(state)
      if (next !== undefined) moved.states.set(context, next)
    }
    return moved
  }

  /** Makes a context the one that was asked for last. */
  private touch(context: string, state: SelectorState): void {
    this.states.delete(context)
    this.states.set(context, state)
  }
}
