import { WeirError } from '../core/errors.ts'
import type { NodeDraft, StreamOrigin } from './graph-draft.ts'

/** What a user may set on the operator that a stream comes from. */
export abstract class NodeSettingsBase {
  private readonly settable: readonly StreamOrigin[]

  constructor(origins: readonly StreamOrigin[]) {
    this.settable = origins
  }

  /** Stable name of the operator: state is matched by it on restore. */
  uid(uid: string): this {
    this.node().uid = uid
    return this
  }

  /** Name shown in logs, metrics and the dashboard. */
  name(name: string): this {
    this.node().name = name
    return this
  }

  /** Number of subtasks, 1 <= parallelism <= max parallelism. */
  setParallelism(parallelism: number): this {
    this.node().parallelism = parallelism
    return this
  }

  /** Number of key groups, at most 32768; keyed state is bound to it for ever. */
  setMaxParallelism(maxParallelism: number): this {
    this.node().maxParallelism = maxParallelism
    return this
  }

  /** Keeps the operator out of its input's chain. */
  disableChaining(): this {
    this.node().chainable = false
    return this
  }

  /** The operator. Throws INVALID_GRAPH for a union, which has several. */
  protected node(): NodeDraft {
    const [origin, ...others] = this.settable
    if (origin !== undefined && others.length === 0) return origin.node
    throw new WeirError(
      'INVALID_GRAPH',
      'a union has no operator of its own: set uid, name, parallelism and side outputs on the streams that it joins, or on the operator after it',
    )
  }
}
