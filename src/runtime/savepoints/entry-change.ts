import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import { WeirError } from '../../core/errors.ts'
import { keyGroupOf } from '../../core/key-group.ts'
import type { Serializer } from '../../core/serializer.ts'
import { latin1Of } from '../../core/text/latin1.ts'
import type { ChangeSink, StateDeclaration } from '../../state/port/change.ts'
import { decodeComposite, encodeComposite } from '../../state/port/composite-key.ts'
import type {
  AggregatingStateDescriptor,
  ListStateDescriptor,
  MapStateDescriptor,
  ReducingStateDescriptor,
  TypedStateDescriptor,
  ValueStateDescriptor,
} from '../../state/port/descriptors.ts'
import { declarationOf, requireSameDeclaration } from '../../state/port/format.ts'
import { EXPIRY_BYTES } from '../../state/values/entry.ts'
import { rewriteElements } from '../../state/values/list.ts'
import type { OperatorManifest } from '../checkpoint/protocol/checkpoint-types.ts'

/** A change of the stored entries of an operator. */
export interface EntryChange {
  /** The states as they are declared afterwards. Throws STATE_CONFLICT, INVALID_ARGUMENT. */
  declarations(uid: string, before: readonly StateDeclaration[]): readonly StateDeclaration[]
  /** What writes changed entries into a sink. Timers have no value. */
  through(sink: ChangeSink, operator: OperatorManifest): ChangeSink
  /** The serializer of the keys that the change writes; undefined where keys stay. */
  readonly keyFormat: string | undefined
}

/** The values of one state as it is now and as it becomes. */
export interface ValueChange<A, B> {
  readonly from: ValuesDescriptor<A>
  readonly to: ValuesDescriptor<B>
  readonly change: (value: A) => B
}

/** The descriptor of a state whose values, elements, map values or accumulators are of type `T`. */
type ValuesDescriptor<T> =
  | ValueStateDescriptor<T>
  | ListStateDescriptor<T>
  | MapStateDescriptor<unknown, T>
  | ReducingStateDescriptor<T>
  | AggregatingStateDescriptor<unknown, T, unknown>

/** Makes other values of those of a state, also in windows: of its values, elements, map values or accumulators. */
export function valueChange<A, B>({ from, to, change }: ValueChange<A, B>): EntryChange {
  const stored = declarationOf(from as TypedStateDescriptor)
  const becomes = declarationOf(to as TypedStateDescriptor)
  if (from.kind !== to.kind || (from.ttl === undefined) !== (to.ttl === undefined)) {
    throw new WeirError(
      'INVALID_ARGUMENT',
      `changeValues changes values, and not the kind or the time to live of a state: state "${from.name}" is ${stored.kind} (${stored.format}) and becomes ${becomes.kind} (${becomes.format})`,
    )
  }
  const rewrite = (bytes: Uint8Array, writer: ByteWriter): void =>
    to.serializer.write(change(from.serializer.read(new ByteReader(bytes))), writer)
  return {
    keyFormat: undefined,
    declarations(uid, before) {
      const known = before.find(({ name }) => name === from.name)
      if (known === undefined) throw missing(uid, from.name, before)
      requireSameDeclaration(stored, known, uid)
      return before.map((declaration) => (declaration === known ? becomes : declaration))
    },
    through(sink) {
      const writer = new ByteWriter(256)
      return {
        append(keyGroup, state, key, value) {
          if (state !== from.name || value === undefined) {
            sink.append(keyGroup, state, key, value)
            return
          }
          writer.reset()
          const start = from.ttl === undefined ? 0 : EXPIRY_BYTES
          writer.raw(value.subarray(0, start))
          const rest = value.subarray(start)
          if (from.kind === 'list') rewriteElements(rest, writer, rewrite)
          else rewrite(rest, writer)
          sink.append(keyGroup, to.name, key, writer.bytes.subarray(0, writer.length))
        },
      }
    },
  }
}

/** The keys of an operator as they are now and as they become. */
export interface KeyChange<A, B> {
  readonly from: Serializer<A>
  readonly to: Serializer<B>
  readonly change: (key: A) => B
}

/** Bytes of the timestamp before the key of a timer. */
const TIMESTAMP_BYTES = 8

/** Gives all state and all timers of an operator other keys, also in windows. */
export function keyChange<A, B>({ from, to, change }: KeyChange<A, B>): EntryChange {
  return {
    keyFormat: to.id,
    declarations: (_uid, before) => before,
    through(sink, { maxParallelism, declarations }) {
      const timers = new Set(
        declarations.filter(({ kind }) => kind === 'timers').map(({ name }) => name),
      )
      const keys = new Map<string, Uint8Array>()
      const taken = new Map<string, string>()
      const changed = (key: Uint8Array): Uint8Array => {
        const text = latin1Of(key)
        const known = keys.get(text)
        if (known !== undefined) return known
        const writer = new ByteWriter(64)
        to.write(change(from.read(new ByteReader(key))), writer)
        const bytes = writer.toBytes()
        if (taken.has(latin1Of(bytes))) throw twice(key)
        taken.set(latin1Of(bytes), text)
        keys.set(text, bytes)
        return bytes
      }
      return {
        append(_keyGroup, state, composite, value) {
          const at = timers.has(state) ? TIMESTAMP_BYTES : 0
          const parts = decodeComposite(composite.subarray(at))
          const key = changed(parts.key)
          const rest = encodeComposite({ ...parts, key })
          const whole = new Uint8Array(at + rest.length)
          whole.set(composite.subarray(0, at))
          whole.set(rest, at)
          sink.append(keyGroupOf(key, maxParallelism), state, whole, value)
        },
      }
    },
  }
}

function missing(uid: string, name: string, before: readonly StateDeclaration[]): WeirError {
  const states = before.filter(({ kind }) => kind !== 'timers').map((state) => state.name)
  return new WeirError(
    'INVALID_ARGUMENT',
    `operator "${uid}" has no state "${name}" in the savepoint; it has ${states.join(', ') || 'no keyed state'}`,
  )
}

function twice(key: Uint8Array): WeirError {
  return new WeirError(
    'INVALID_ARGUMENT',
    `changeKeys gives two keys of the savepoint the same new key, one of them ${Buffer.from(key).toString()}; let change return a key of its own for each, or join their state with readKeyedState and bootstrapWith`,
  )
}
