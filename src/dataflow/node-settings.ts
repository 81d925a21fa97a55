import { WeirError } from '../core/errors.ts'
import { parallelism as subtasks } from '../core/options/kinds.ts'
import { checkArgument } from '../core/options/shape.ts'
import { refuseArgument } from '../core/text/refuse-argument.ts'
import type { RecordErrorPolicy } from '../operators/port/failed-record.ts'
import { requireTag } from '../operators/port/output-tag.ts'
import { requireName } from './checks/name-argument.ts'
import type { NodeDraft, StreamOrigin } from './graph-draft.ts'

/** Settings of the operator whose output a stream is. */
export abstract class NodeSettingsBase {
  private readonly settable: readonly StreamOrigin[]

  constructor(origins: readonly StreamOrigin[]) {
    this.settable = origins
  }

  /** Sets the stable name of the operator, by which a restore finds its state. */
  uid(uid: string): this {
    requireName(uid, 'uid')
    this.node().uid = uid
    return this
  }

  /** Sets the name that logs, metrics and the dashboard show. */
  name(name: string): this {
    requireName(name, 'name')
    this.node().name = name
    return this
  }

  /** Sets the number of subtasks, 1 <= parallelism <= max parallelism. */
  setParallelism(parallelism: number): this {
    checkArgument('setParallelism', 'parallelism', subtasks, parallelism)
    this.node().parallelism = parallelism
    return this
  }

  /** Sets the number of key groups, at most 32768. It cannot change once there is keyed state. */
  setMaxParallelism(maxParallelism: number): this {
    checkArgument('setMaxParallelism', 'maxParallelism', subtasks, maxParallelism)
    this.node().maxParallelism = maxParallelism
    return this
  }

  /** Keeps the operator out of the chain of its input. */
  disableChaining(): this {
    this.node().chainable = false
    return this
  }

  /**
   * Sets what happens with a record at which a function of the operator throws. `fail` ends the attempt; it is the
   * default unless `onError` of the environment says otherwise. `skip` leaves the record out. A tag sends it to the side
   * output as a `FailedRecord`, for a topic of dead letters. Both count `numRecordsFailed`, and keep what the function
   * did before it threw. Errors that a restart heals end the attempt in any case, as do those of timers, of windows that
   * fire, and of asynchronous functions. Throws INVALID_ARGUMENT for another policy.
   */
  onError(policy: RecordErrorPolicy): this {
    requirePolicy(policy)
    this.node().onError = policy
    return this
  }

  /** The operator. Throws INVALID_GRAPH for a union, which has several. */
  protected node(): NodeDraft {
    const [origin, ...others] = this.settable
    if (origin !== undefined && others.length === 0) return origin.node
    throw new WeirError(
      'INVALID_GRAPH',
      'a union has no operator: set uid, name, parallelism and side outputs on the streams that it joins, or on the operator after it',
    )
  }
}

function requirePolicy(policy: unknown): void {
  if (policy === 'fail' || policy === 'skip') return
  if (typeof policy !== 'string') {
    requireTag(policy, 'onError')
    return
  }
  refuseArgument('onError(...)', policy, "'fail', 'skip' or an output tag: new OutputTag('failed')")
}

/** The end of a branch, which only has settings. */
export class DataStreamSink extends NodeSettingsBase {
  constructor(node: NodeDraft) {
    super([{ node, tag: undefined, partitioning: undefined }])
  }
}
