import { type ErrorCode, isWeirError, WeirError } from '../../core/errors.ts'
import { isOtherKey } from '../../core/formats/key-text.ts'
import { murmur3 } from '../../core/hash/murmur3.ts'
import { keyGroupOfHash } from '../../core/key-group.ts'
import { unpackSlotQueryReply } from '../../state/catalog/slot-query-message.ts'
import type { StateCatalog } from '../../state/catalog/state-catalog.ts'
import type { TypedStateShare } from '../../state/catalog/typed-state-share.ts'
import type { SlotQueryAnswer } from '../../state/port/slot-query.ts'
import type { Answer } from '../../wire/model-reader.ts'
import { otherReading, refusalOfKey, textInstead } from '../../wire/state/asked-key.ts'
import { askedKey } from '../../wire/state/formatted-key.ts'
import type { LocalSlotAsker } from '../catalog/slot-asker.ts'
import type { ReplyLease } from '../port/reply-lease.ts'
import type { OwnedQueryOptions } from '../port/request-owner.ts'
import { failureOf } from './failures.ts'
import type { LocalRequest, LocalRequests } from './request.ts'

const CODE_OF = {
  missing: 'UNKNOWN_KEY',
  restoring: 'RESTORING',
  'unknown-state': 'UNKNOWN_STATE',
} as const satisfies Record<Exclude<SlotQueryAnswer['kind'], 'found'>, ErrorCode>

/** Options of a read of values. */
export interface ValuesOptions extends OwnedQueryOptions {
  /** Bytes after which each slot ends its answer. @default no limit */
  readonly maxBytes?: number
}

/** Values that are read from one slot. */
interface WantedValues {
  readonly name: string
  readonly keys: readonly Uint8Array[]
  readonly format: string | undefined
  readonly maxBytes: number | undefined
  readonly lease: ReplyLease | undefined
}

type Answers = (Answer<Uint8Array> | undefined)[]

/** A read of values. */
interface AskedValues {
  readonly name: string
  readonly keys: readonly string[]
  readonly request: LocalRequest
  readonly options: ValuesOptions
  readonly parts: readonly TypedStateShare[]
}

/** Reads typed state by asking the slots that own the keys. */
export class LocalTypedReads {
  private readonly catalog: StateCatalog
  private readonly requests: LocalRequests
  private readonly asker: LocalSlotAsker

  constructor(catalog: StateCatalog, requests: LocalRequests, asker: LocalSlotAsker) {
    this.catalog = catalog
    this.requests = requests
    this.asker = asker
  }

  /**
   * Encoded values in the order of the keys; of the first keys only, at least of one, when `maxBytes` is
   * given. Throws UNKNOWN_STATE, RESTORING, UNSUPPORTED.
   */
  async values(
    name: string,
    keys: readonly string[],
    options: ValuesOptions = {},
  ): Promise<Answer<Uint8Array>[]> {
    const parts = this.catalog.typedState(name)
    if (parts.length === 0 && this.catalog.state(name) !== undefined) {
      const message = `"${name}" is vector state: read its rows (ROWS, \`weir query\` without --values)`
      throw new WeirError('UNSUPPORTED', message)
    }
    if (parts.length === 0) {
      throw this.requests.errors.unknownState('typed state', name)
    }
    const request = this.requests.typed(options)
    const asked = { name, keys, request, options, parts }
    const answers = await this.ask(asked)
    await this.askOtherwise(asked, answers)
    // A slot may have ended early: answers behind the first gap are read again with the next keys.
    const gap = keys.findIndex((_, i) => answers[i] === undefined)
    return (gap < 0 ? answers : answers.slice(0, gap)) as Answer<Uint8Array>[]
  }

  /** The answers of the slots; those behind the end of a slot's answer are missing. */
  private async ask({ name, keys, request, options, parts }: AskedValues): Promise<Answers> {
    const { maxBytes, lease } = options
    const answers: Answers = []
    const bySlot = new Map<number, number[]>()
    const format = parts[0]!.keyFormat
    const encoded = keys.map((key) => askedKey(key, format))
    const absent = this.requests.errors.isRestoring() ? 'RESTORING' : 'NOT_OWNER'
    encoded.forEach((key, i) => {
      const slot = ownerOf(parts, key)
      if (slot === undefined) answers[i] = { ok: false, error: failureOf(absent, key, format) }
      else if (!bySlot.get(slot)?.push(i)) bySlot.set(slot, [i])
    })
    const asked = [...bySlot].map(async ([slot, places]) => {
      const own = places.map((i) => encoded[i]!)
      const replies = await this.valuesOf(
        slot,
        { name, keys: own, format, maxBytes, lease },
        request,
      )
      replies.forEach((reply, n) => {
        answers[places[n]!] = reply
      })
    })
    await Promise.all(asked)
    return answers
  }

  /** Reads the keys that do not exist otherwise, where their texts can be read in two ways. */
  private async askOtherwise(asked: AskedValues, answers: Answers): Promise<void> {
    const { name, keys, parts } = asked
    const format = parts[0]!.keyFormat
    const missing = keys.flatMap((text, at) => {
      const answer = answers[at]
      if (answer?.ok !== false || answer.error.code !== 'UNKNOWN_KEY') return []
      const other = otherReading(text, format)
      const refusal = refusalOfKey(name, format)
      if (refusal !== undefined) answers[at] = { ok: false, error: refusal }
      return other === undefined ? [] : [{ at, text, other }]
    })
    if (missing.length === 0) return
    const others = await this.ask({ ...asked, keys: missing.map(({ other }) => other) })
    for (const [n, { at, text }] of missing.entries()) {
      const other = others[n]
      if (other === undefined) answers[at] = undefined
      else if (other.ok) {
        answers[at] = isOtherKey(text) ? { ok: false, error: textInstead(text) } : other
      }
    }
  }

  private async valuesOf(
    slot: number,
    { name, keys, format, maxBytes, lease }: WantedValues,
    request: LocalRequest,
  ): Promise<Answer<Uint8Array>[]> {
    try {
      const incarnation = await this.requests.reach(slot, request)
      const asOfMs = this.requests.asOfMs(request, slot)
      const reply = await this.asker.ask(slot, request, (id) => {
        return { kind: 'values', id, queryableName: name, keys, maxBytes }
      })
      lease?.hold(() => this.asker.giveBack(slot, reply.packed))
      this.requests.requireIncarnation(slot, incarnation)
      const { answers } = unpackSlotQueryReply(reply)
      return answers.map((answer) =>
        answer.kind === 'found'
          ? this.answerOf(slot, request, asOfMs, answer)
          : { ok: false, error: failureOf(CODE_OF[answer.kind], answer.key, format) },
      )
    } catch (error) {
      if (!isWeirError(error)) throw error
      return keys.map(() => ({ ok: false, error }))
    }
  }

  private answerOf(
    slot: number,
    request: LocalRequest,
    asOfMs: number,
    answer: Extract<SlotQueryAnswer, { kind: 'found' }>,
  ): Answer<Uint8Array> {
    const { checkpointId } = request
    const origin = { partition: -1, offset: 0, slot, asOfMs, checkpointId }
    return { ok: true, value: answer.value, envelope: this.requests.envelope(request, origin) }
  }
}

function ownerOf(parts: readonly TypedStateShare[], key: Uint8Array): number | undefined {
  const hash = murmur3(key)
  const owner = parts.find(({ maxParallelism, firstKeyGroup, lastKeyGroup }) => {
    const group = keyGroupOfHash(hash, maxParallelism)
    return group >= firstKeyGroup && group <= lastKeyGroup
  })
  return owner?.slot
}
