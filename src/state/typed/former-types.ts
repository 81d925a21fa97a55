import { WeirError } from '../../core/errors.ts'
import { plainKeyType } from '../../core/formats/plain-key.ts'
import { PartReader } from '../port/composite-key.ts'
import { HOW_TO_GO_ON, HOW_TO_MIGRATE, hasExpiry } from '../port/format.ts'
import type { FrequentKey } from '../port/frequent-key.ts'
import type { KeysAhead } from '../port/keyed-input.ts'
import { EXPIRY_BYTES } from '../values/entry.ts'
import { elementsOf } from '../values/list.ts'
import type { StateTable } from './table.ts'

/*
 * The default serializers write any plain data, so that their ids do not say what the values and keys of a state are.
 * After a start from a checkpoint, the first key and the first value of each state are compared with the restored ones.
 */

const NUMBER = 1
const STRING = 2
const BOOLEAN = 4
const ARRAY = 8
const RECORD = 16
const OTHER = 32
const NAMES: Readonly<Record<number, string>> = {
  [NUMBER]: 'number',
  [STRING]: 'string',
  [BOOLEAN]: 'boolean',
  [ARRAY]: 'array',
  [RECORD]: 'record',
  [OTHER]: 'other',
}

/** Adds the type of a restored value to those of its table. Null is of every type. */
export function observeValue(table: StateTable, stored: Uint8Array): void {
  if (table.serializer?.id !== 'msgpack/1') return
  const value = hasExpiry(table.format) ? stored.subarray(EXPIRY_BYTES) : stored
  table.formerTypes |= packedType(table.kind === 'list' ? firstElement(value) : value[0])
}

function firstElement(list: Uint8Array): number | undefined {
  const elements = elementsOf(list)
  return elements[elements.findIndex((byte) => byte < 0x80) + 1]
}

/** The type by the first byte of MessagePack; two where it may be either. */
function packedType(first: number | undefined): number {
  if (first === undefined || first === 0xc0) return 0
  if (first < 0x80 || first >= 0xe0) return NUMBER
  if (first < 0x90) return RECORD
  if (first < 0xa0) return ARRAY
  if (first < 0xc0 || (first >= 0xd9 && first <= 0xdb)) return STRING
  if (first === 0xc2 || first === 0xc3) return BOOLEAN
  // Whole numbers of 64 bits are written for large numbers and for bigints.
  if (first === 0xcf || first === 0xd3) return NUMBER | OTHER
  if (first >= 0xca && first <= 0xd2) return NUMBER
  if (first === 0xdc || first === 0xdd) return ARRAY
  return first >= 0xde ? RECORD : OTHER
}

function typeOf(value: unknown): number {
  switch (typeof value) {
    case 'number':
      return NUMBER
    case 'string':
      return STRING
    case 'boolean':
      return BOOLEAN
    case 'object':
      return value === null ? 0 : typeOfObject(value)
    default:
      return OTHER
  }
}

const OTHERS = [Map, Set, Date, RegExp, Error, ArrayBuffer]

function typeOfObject(value: object): number {
  if (Array.isArray(value)) return ARRAY
  if (ArrayBuffer.isView(value) || OTHERS.some((type) => value instanceof type)) return OTHER
  return RECORD
}

/** From now on the table expects the type of its restored values, if all have the same. */
export function expectFormerType(table: StateTable): void {
  if (NAMES[table.formerTypes] !== undefined) table.expectedType = table.formerTypes
}

/** Compares the first value that is written with the restored ones. Throws STATE_CONFLICT. */
export function checkType(table: StateTable, value: unknown): void {
  const { expectedType } = table
  const type = typeOf(value)
  if (type === 0) return
  table.expectedType = 0
  if (type === expectedType) return
  throw new WeirError(
    'STATE_CONFLICT',
    `state "${table.name}" holds a ${NAMES[expectedType]} in the checkpoint, and the job writes a ${NAMES[type]}; ${HOW_TO_MIGRATE}; ${HOW_TO_GO_ON}`,
    { details: { state: table.name } },
  )
}

/** Keys of which the types are looked at; afterwards only those of types that no other had. */
const MOST_LOOKS = 1000

/** The types of the restored keys of one operator. */
export class FormerKeys {
  private readonly types = new Set<string>()
  private readonly part = new PartReader()
  private seen = 0
  private looks = 0

  /** Takes the key of a restored entry. */
  add(composite: Uint8Array): void {
    const bit = 1 << Math.max(0, composite[0]! - 0xf7)
    if ((this.seen & bit) !== 0 && this.looks >= MOST_LOOKS) return
    this.seen |= bit
    this.looks += 1
    this.part.read(composite, 0)
    this.types.add(plainKeyType(this.part.bytes.subarray(0, this.part.length)))
  }

  /** Throws STATE_CONFLICT where none of the first keys of the job has a type of the restored ones. */
  check(operatorUid: string, keys: KeysAhead): void {
    if (this.types.size === 0) return
    const present = Array.from({ length: keys.count }, (_, i) => plainKeyType(keyAt(keys, i)))
    if (present.length === 0 || present.some((type) => this.types.has(type))) return
    throw new WeirError(
      'STATE_CONFLICT',
      `the keys of operator "${operatorUid}" are ${[...this.types].join(' or ')} in the checkpoint and ${present[0]} in the job, so that no record finds its state; let keyBy return the keys that it returned, or write the state by its new keys with SavepointReader and SavepointWriter (docs/guide/state-evolution.md); ${HOW_TO_GO_ON}`,
      { details: { operator: operatorUid } },
    )
  }
}

function keyAt(keys: KeysAhead, i: number): Uint8Array {
  const frequent: FrequentKey | undefined = keys.frequent[i]
  if (frequent !== undefined) return frequent.bytes
  const start = keys.keyStarts[i]!
  return keys.bytes.subarray(start, start + keys.keyLengths[i]!)
}
