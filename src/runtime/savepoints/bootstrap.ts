import { ByteWriter } from '../../core/byte-writer.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { type PlainKey, plainKeySerializer } from '../../core/formats/plain-key-serializer.ts'
import { keyGroupOf } from '../../core/key-group.ts'
import { MetricGroup } from '../../core/metrics.ts'
import { kindOf, listOf, objectWith, optional } from '../../core/options/kinds.ts'
import { serializer as serializerKind } from '../../core/options/ports.ts'
import { checkArgument } from '../../core/options/shape.ts'
import { NO_POSITION, type SourcePosition } from '../../core/position.ts'
import type { Serializer } from '../../core/serializer.ts'
import { refuseArgument } from '../../core/text/refuse-argument.ts'
import { MIN_TIMESTAMP, NO_TIMESTAMP } from '../../core/time.ts'
import type { BroadcastDescriptors } from '../../dataflow/broadcast-stream.ts'
import type { Accumulator } from '../../operators/port/accumulator.ts'
import type { OperatorContext, Output, StreamOperator } from '../../operators/port/operator.ts'
import { storeKeyFormat } from '../../operators/port/stored-keys.ts'
import { BroadcastProcessOperator } from '../../operators/process/broadcast.ts'
import type {
  BroadcastProcessFunction,
  KeyedProcessFunction,
  ProcessFunction,
} from '../../operators/process/function.ts'
import { KeyedProcessOperator } from '../../operators/process/keyed-process.ts'
import { ProcessOperator } from '../../operators/process/process.ts'
import { StateCatalog } from '../../state/catalog/state-catalog.ts'
import type { KeyedState } from '../../state/port/keyed-state.ts'
import type { KeyedStateBackend } from '../../state/port/keyed-state-backend.ts'
import type { OperatorStateEntries } from '../checkpoint/protocol/checkpoint-types.ts'
import { OperatorStateMemory } from '../subtask/operator-state-memory.ts'
import { TaskAccumulators } from '../subtask/task-accumulators.ts'
import { madeObject, requireFactory } from './arguments.ts'
import { openInMemory } from './keyed-state.ts'

const TRANSFORM = 'transform(...)'
const EXAMPLE = 'transform(() => new MyFunction())'

const DATA = kindOf<BootstrapData<unknown>>(
  'records: an array, or another iterable',
  (given) =>
    typeof given === 'object' &&
    given !== null &&
    (Symbol.iterator in given || Symbol.asyncIterator in given),
)
const STATES = listOf(objectWith("a descriptor of broadcast state, such as mapState('rules')"))

/** Records from which state is made; they may come from a reader of a savepoint, a file or a database. */
export type BootstrapData<T> = Iterable<T> | AsyncIterable<T>

/** The new state of an operator, in memory. */
export interface BootstrappedState {
  /** Undefined without keys; the receiver closes it. */
  readonly keyed: KeyedStateBackend | undefined
  readonly operatorState: readonly OperatorStateEntries[]
}

/** What makes the state of one operator: see `bootstrapWith`. */
export interface StateBootstrapTransformation {
  /** For `SavepointWriter`: runs the function over all records. */
  run(uid: string, maxParallelism: number): Promise<BootstrappedState>
}

/** How the records of a transformation go through an operator. */
interface Bootstrap<T> {
  readonly data: BootstrapData<T>
  readonly input: number
  readonly createOperator: () => StreamOperator
  readonly key:
    | { selector(value: T): unknown; readonly serializer: Serializer<unknown> }
    | undefined
}

/** Records that become the state of an operator: of a key, of no key, or broadcast. */
export class OneInputStateTransformation<T> {
  private readonly data: BootstrapData<T>

  constructor(data: BootstrapData<T>) {
    this.data = data
  }

  /** Groups the records by key, as `keyBy` of the job does. */
  keyBy<K extends PlainKey>(
    selector: (value: T) => K,
    serializer?: Serializer<K>,
  ): KeyedStateTransformation<K, T>
  keyBy<K>(selector: (value: T) => K, serializer: Serializer<K>): KeyedStateTransformation<K, T>
  keyBy<K>(selector: (value: T) => K, serializer?: Serializer<K>): KeyedStateTransformation<K, T> {
    if (typeof selector !== 'function') {
      refuseArgument('keyBy(...)', selector, 'a function that returns the key of a record')
    }
    checkArgument('keyBy', 'serializer', optional(serializerKind<K>()), serializer)
    const keys = serializer ?? (plainKeySerializer() as Serializer<unknown> as Serializer<K>)
    return new KeyedStateTransformation(this.data, selector, keys)
  }

  /** Makes the lists of `initializeState`; `snapshotState` is called after the last record. */
  transform(create: () => ProcessFunction<T, unknown>): StateBootstrapTransformation {
    requireFactory(create, TRANSFORM, EXAMPLE)
    return transformation({
      data: this.data,
      input: 0,
      createOperator: () =>
        new ProcessOperator(madeObject(create(), TRANSFORM, ['processElement'])),
      key: undefined,
    })
  }

  /** Makes broadcast state; give the descriptors of the job's `broadcast(...)`. */
  broadcast(...states: BroadcastDescriptors): BroadcastStateTransformation<T> {
    checkArgument('broadcast', 'states', STATES, states)
    return new BroadcastStateTransformation(this.data, states)
  }
}

/** Records by key that become keyed state. */
export class KeyedStateTransformation<K, T> {
  private readonly data: BootstrapData<T>
  private readonly selector: (value: T) => K
  private readonly serializer: Serializer<K>

  constructor(data: BootstrapData<T>, selector: (value: T) => K, serializer: Serializer<K>) {
    this.data = data
    this.selector = selector
    this.serializer = serializer
  }

  /**
   * Makes keyed state and timers. The function is one as `process` of a keyed stream takes, also the job's own:
   * what it emits is dropped, and no timer fires.
   */
  transform(create: () => KeyedProcessFunction<K, T, unknown>): StateBootstrapTransformation {
    requireFactory(create, TRANSFORM, EXAMPLE)
    const { serializer } = this
    return transformation<T>({
      data: this.data,
      input: 0,
      createOperator: () => {
        const made = madeObject(create(), TRANSFORM, ['processElement'])
        return new KeyedProcessOperator(made, serializer, true)
      },
      key: { selector: this.selector, serializer: serializer as Serializer<unknown> },
    })
  }
}

/** Records that become broadcast state. */
export class BroadcastStateTransformation<T> {
  private readonly data: BootstrapData<T>
  private readonly states: BroadcastDescriptors

  constructor(data: BootstrapData<T>, states: BroadcastDescriptors) {
    this.data = data
    this.states = states
  }

  /** Calls `processBroadcastElement` for each record. */
  transform(
    create: () => Pick<BroadcastProcessFunction<never, T, unknown>, 'processBroadcastElement'>,
  ): StateBootstrapTransformation {
    requireFactory(create, TRANSFORM, EXAMPLE)
    const createOperator = (): StreamOperator => {
      const created = madeObject(create(), TRANSFORM, ['processBroadcastElement'])
      return new BroadcastProcessOperator<never, T, unknown>(
        {
          processElement() {},
          processBroadcastElement: (value, context, out) =>
            created.processBroadcastElement(value, context, out),
        },
        this.states,
      )
    }
    return transformation({ data: this.data, input: 1, createOperator, key: undefined })
  }
}

/** Begins to make the state of an operator: `bootstrapWith(rows).keyBy(selector).transform(() => function)`. */
export function bootstrapWith<T>(data: BootstrapData<T>): OneInputStateTransformation<T> {
  checkArgument('bootstrapWith', 'data', DATA, data)
  return new OneInputStateTransformation(data)
}

function transformation<T>(bootstrap: Bootstrap<T>): StateBootstrapTransformation {
  return { run: (uid, maxParallelism) => run(bootstrap, uid, maxParallelism) }
}

async function run<T>(
  { data, input, createOperator, key }: Bootstrap<T>,
  uid: string,
  maxParallelism: number,
): Promise<BootstrappedState> {
  const keyed =
    key && (await openInMemory(uid, { first: 0, last: maxParallelism - 1 }, maxParallelism))
  const context = new StandaloneContext({ uid, maxParallelism, keyedState: keyed })
  if (key !== undefined) storeKeyFormat(context.operatorState, key.serializer.id)
  const operator = createOperator()
  try {
    await operator.open(context)
    const bytes = new ByteWriter(64)
    for await (const value of data) {
      if (key !== undefined) {
        bytes.reset()
        key.serializer.write(key.selector(value), bytes)
        const encoded = bytes.toBytes()
        keyed!.setCurrentKey(encoded, keyGroupOf(encoded, maxParallelism))
        keyed!.setCurrentNamespace(new Uint8Array(0))
      }
      operator.processElement(input, value, NO_TIMESTAMP)
    }
    await operator.prepareSnapshot(1)
    return { keyed, operatorState: context.operatorState.entries() }
  } catch (error) {
    keyed?.close()
    throw error
  } finally {
    await operator.close()
  }
}

/** An operator of a savepoint that runs alone. */
interface StandaloneOperator {
  readonly uid: string
  readonly maxParallelism: number
  readonly keyedState: KeyedState | undefined
}

/** The context of an operator whose state a program writes, outside a job: it has no output, and time stands still. */
class StandaloneContext implements OperatorContext {
  readonly uid: string
  readonly name: string
  readonly subtask = 0
  readonly parallelism = 1
  readonly attempt = 1
  readonly maxParallelism: number
  readonly keyedState: KeyedState | undefined
  readonly operatorState = new OperatorStateMemory()
  readonly clock: Clock = systemClock
  readonly metrics = new MetricGroup()
  readonly rowTables = new StateCatalog()
  /** What a function emits is dropped. */
  readonly output: Output = { collect() {}, collectSide() {} }
  private readonly accumulators = new TaskAccumulators()

  constructor({ uid, maxParallelism, keyedState }: StandaloneOperator) {
    this.uid = uid
    this.name = uid
    this.maxParallelism = maxParallelism
    this.keyedState = keyedState
  }

  addAccumulator<A extends Accumulator>(name: string, accumulator: A): A {
    return this.accumulators.addAccumulator(name, accumulator)
  }

  getAccumulator<A extends Accumulator>(name: string): A | undefined {
    return this.accumulators.getAccumulator(name)
  }

  position(): SourcePosition {
    return NO_POSITION
  }

  currentWatermark(): number {
    return MIN_TIMESTAMP
  }

  /** Timers that are registered fire in the job that restores them. */
  scheduleProcessingTime(): void {}

  wake(): void {}

  resumeAt(): void {}

  sendEvent(): void {}

  suspend(): void {
    throw new WeirError('ILLEGAL_STATE', `outside a job, ${this.name} cannot wait`)
  }

  /** Another slot's rows: there is none. */
  storedRows(): Promise<never> {
    return Promise.reject(new WeirError('ILLEGAL_STATE', 'outside a job there are no other slots'))
  }
}
