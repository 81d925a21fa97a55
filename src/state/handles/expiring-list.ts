import type { Clock } from '../../core/clock.ts'
import {
  type EvolvingSerializer,
  readerOfHolder,
  type Serializer,
  type ValueReader,
} from '../../core/serializer.ts'
import type { ListStateDescriptor, TypedStateDescriptor } from '../port/descriptors.ts'
import type { ListState, LiveListState } from '../port/handles.ts'
import { requireValues } from './several-values.ts'

/*
 * An element of a list whose elements expire one by one:
 *
 *   | expiry: int64 little-endian, ms since 1970 | element |
 */

const LEAST_UNTIL_LOOK = 16

/** An element with the time of the wall clock at which it expires, ms. */
interface ExpiringElement<T> {
  readonly expiry: number
  readonly value: T
}

/**
 * A descriptor as state stores it: the elements of a list with a time to live for each have their expiry with them. The list
 * as a whole expires with its last element, so that nothing stays of a key that is not looked at again.
 */
export function storedDescriptor(descriptor: TypedStateDescriptor): TypedStateDescriptor {
  return descriptor.kind === 'list' && descriptor.ttl?.perElement === true
    ? (expiringDescriptor(descriptor) as ListStateDescriptor<unknown>)
    : descriptor
}

/** The descriptor of a list of elements with their expiries. */
export function expiringDescriptor<T>(
  descriptor: ListStateDescriptor<T>,
): ListStateDescriptor<ExpiringElement<T>> {
  return { ...descriptor, serializer: expiringSerializer(descriptor.serializer) }
}

function expiringSerializer<T>(elements: Serializer<T>): Serializer<ExpiringElement<T>> {
  const name = 'expiring/1'
  const wrap =
    (read: ValueReader<T>): ValueReader<ExpiringElement<T>> =>
    (reader) => ({ expiry: reader.int53(), value: read(reader) })
  const serializer: EvolvingSerializer<ExpiringElement<T>> = {
    id: `${name}(${elements.id})`,
    write({ expiry, value }, writer) {
      writer.int53(expiry)
      elements.write(value, writer)
    },
    read: wrap((reader) => elements.read(reader)),
    readerOf: (storedId) => readerOfHolder(elements, { name, storedId }, wrap),
  }
  return serializer
}

/** A list whose elements expire one by one. Those that have are removed once they are as many as the others. */
export class ExpiringListHandle<T> implements ListState<T> {
  private readonly list: LiveListState<ExpiringElement<T>>
  private readonly clock: Pick<Clock, 'nowMs'>
  private readonly ttlMs: number
  /** Additions until one looks for expired elements: as many as the last list had, so that looks cost little. */
  private untilLook = LEAST_UNTIL_LOOK

  /** `ttlMs`: how long an element lives, ms of the wall clock. */
  constructor(list: LiveListState<ExpiringElement<T>>, clock: Pick<Clock, 'nowMs'>, ttlMs: number) {
    this.list = list
    this.clock = clock
    this.ttlMs = ttlMs
  }

  get(): T[] {
    return this.living().map(({ value }) => value)
  }

  add(value: T): void {
    this.lookAfter(1)
    this.list.add(this.expiring(value))
  }

  addAll(values: readonly T[]): void {
    requireValues(values, 'addAll')
    this.lookAfter(values.length)
    this.list.addAll(values.map((value) => this.expiring(value)))
  }

  update(values: readonly T[]): void {
    requireValues(values, 'update')
    this.list.update(values.map((value) => this.expiring(value)))
  }

  clear(): void {
    this.list.clear()
  }

  private lookAfter(additions: number): void {
    this.untilLook -= additions
    if (this.untilLook <= 0) this.untilLook = Math.max(LEAST_UNTIL_LOOK, this.living().length)
  }

  private living(): readonly ExpiringElement<T>[] {
    const now = this.clock.nowMs()
    const all = this.list.get()
    const living = all.filter(({ expiry }) => expiry > now)
    if (living.length < all.length && all.length >= 2 * living.length) this.list.update(living)
    return living
  }

  private expiring(value: T): ExpiringElement<T> {
    return { expiry: this.clock.nowMs() + this.ttlMs, value }
  }
}
