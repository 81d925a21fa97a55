import { type ErrorCode, isWeirError } from '../core/errors.ts'
import { murmur3 } from '../core/murmur3.ts'
import type { SlotQueryAnswer } from '../state/slot-query.ts'
import type { Answer, QueryOptions } from '../wire/model-reader.ts'
import type { LocalCatalog, TypedStateShare } from './local-catalog.ts'
import { failureOf, type LocalRequest, type LocalRequests } from './local-request.ts'
import type { LocalSlotAsker } from './local-slot-asker.ts'

const encoder = new TextEncoder()

const CODE_OF = {
  missing: 'UNKNOWN_KEY',
  restoring: 'RESTORING',
  'unknown-state': 'UNKNOWN_STATE',
} as const satisfies Record<Exclude<SlotQueryAnswer['kind'], 'found'>, ErrorCode>

/** Reads typed state: the slots that own the keys are asked. */
export class LocalTypedReads {
  private readonly catalog: LocalCatalog
  private readonly requests: LocalRequests
  private readonly asker: LocalSlotAsker

  constructor(catalog: LocalCatalog, requests: LocalRequests, asker: LocalSlotAsker) {
    this.catalog = catalog
    this.requests = requests
    this.asker = asker
  }

  /** Encoded values in the order of the keys. Throws UNKNOWN_STATE, RESTORING, UNSUPPORTED. */
  async values(
    name: string,
    keys: readonly string[],
    options: QueryOptions = {},
  ): Promise<Answer<Uint8Array>[]> {
    const parts = this.catalog.typedState(name)
    if (parts.length === 0) {
      throw this.requests.unknown('UNKNOWN_STATE', `no queryable typed state is named "${name}"`)
    }
    const request = this.requests.typed(options)
    const answers: Answer<Uint8Array>[] = []
    const bySlot = new Map<number, number[]>()
    const encoded = keys.map((key) => encoder.encode(key))
    const absent = this.requests.isRestoring() ? 'RESTORING' : 'NOT_OWNER'
    encoded.forEach((key, i) => {
      const slot = ownerOf(parts, key)
      if (slot === undefined) answers[i] = { ok: false, error: failureOf(absent, key) }
      else if (!bySlot.get(slot)?.push(i)) bySlot.set(slot, [i])
    })
    const asked = [...bySlot].map(async ([slot, places]) => {
      const own = places.map((i) => encoded[i]!)
      const replies = await this.valuesOf(slot, name, own, request)
      places.forEach((place, n) => {
        answers[place] = replies[n]!
      })
    })
    await Promise.all(asked)
    return answers
  }

  private async valuesOf(
    slot: number,
    name: string,
    keys: readonly Uint8Array[],
    request: LocalRequest,
  ): Promise<Answer<Uint8Array>[]> {
    try {
      const life = await this.requests.reach(slot, request)
      const asOfMs = this.requests.asOfMs(request, slot)
      const asked = this.asker.ask(slot, (id) => ({
        kind: 'values',
        id,
        queryableName: name,
        keys,
      }))
      const answers = await this.requests.within(request, asked)
      this.requests.requireLife(slot, life)
      return answers.map((answer) => this.answerOf(slot, request, asOfMs, answer))
    } catch (error) {
      if (!isWeirError(error)) throw error
      return keys.map(() => ({ ok: false, error }))
    }
  }

  private answerOf(
    slot: number,
    request: LocalRequest,
    asOfMs: number,
    answer: SlotQueryAnswer,
  ): Answer<Uint8Array> {
    if (answer.kind !== 'found') {
      return { ok: false, error: failureOf(CODE_OF[answer.kind], answer.key) }
    }
    const { checkpointId } = request
    const origin = { partition: -1, offset: 0, slot, asOfMs, checkpointId }
    return { ok: true, value: answer.value, envelope: this.requests.envelope(request, origin) }
  }
}

function ownerOf(parts: readonly TypedStateShare[], key: Uint8Array): number | undefined {
  const hash = murmur3(key)
  const owner = parts.find(({ maxParallelism, firstKeyGroup, lastKeyGroup }) => {
    const group = hash % maxParallelism
    return group >= firstKeyGroup && group <= lastKeyGroup
  })
  return owner?.slot
}
