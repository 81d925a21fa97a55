import { WeirError } from '../../core/errors.ts'
import { kindOf } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'

/** Fields of a record that hold numbers; of a tuple, their positions. */
export type NumberField<T> = T extends readonly unknown[]
  ? number
  : { readonly [F in keyof T]-?: T[F] extends number ? F : never }[keyof T]

/** Fields of a record that can be compared; of a tuple, their positions. */
export type ComparableField<T> = T extends readonly unknown[]
  ? number
  : { readonly [F in keyof T]-?: T[F] extends number | string | bigint ? F : never }[keyof T]

/** Whether records may be folded in parts: in parts that follow each other, or of any order. */
export type FieldFoldParts = 'in-order' | 'any-order'

type Fold<T> = (a: T, b: T) => T

/** The folds of a field, for everything that can reduce records: streams by key and windows. */
export abstract class FieldFolds<T, Reduced> {
  /** Reduces records to one of their type. */
  abstract reduce(reduce: Fold<T>): Reduced

  /** As `reduce`, with a fold of Weir's own that gives the same in such parts. */
  protected abstract foldInParts(fold: Fold<T>, parts: FieldFoldParts): Reduced

  /** The first record, with the sum of a field of all. */
  sum(field: NumberField<T>): Reduced {
    checkArgument('sum', 'field', FIELD, field)
    return this.foldInParts((a, b) => withField(a, field, sumOf(a, b, field)), 'any-order')
  }

  /** The first record, with the smallest value of a field. */
  min(field: ComparableField<T>): Reduced {
    checkArgument('min', 'field', FIELD, field)
    return this.foldInParts(
      (a, b) => (isLess(b, a, field) ? withField(a, field, fieldOf(b, field)) : a),
      'any-order',
    )
  }

  /** The first record, with the greatest value of a field. */
  max(field: ComparableField<T>): Reduced {
    checkArgument('max', 'field', FIELD, field)
    return this.foldInParts(
      (a, b) => (isLess(a, b, field) ? withField(a, field, fieldOf(b, field)) : a),
      'any-order',
    )
  }

  /** The record with the smallest value of a field, of equal ones the first. */
  minBy(field: ComparableField<T>): Reduced {
    checkArgument('minBy', 'field', FIELD, field)
    return this.foldInParts((a, b) => (isLess(b, a, field) ? b : a), 'in-order')
  }

  /** The record with the greatest value of a field, of equal ones the first. */
  maxBy(field: ComparableField<T>): Reduced {
    checkArgument('maxBy', 'field', FIELD, field)
    return this.foldInParts((a, b) => (isLess(a, b, field) ? b : a), 'in-order')
  }
}

type AnyField = string | number | symbol

const FIELD = kindOf<AnyField>('the name of a field, or a position of a tuple', (given) =>
  ['string', 'number', 'symbol'].includes(typeof given),
)

function fieldOf<T>(record: T, field: AnyField): never {
  return (record as Record<AnyField, unknown>)[field] as never
}

/** Throws INVALID_ARGUMENT for what is no number: texts would be joined, and a missing field makes all sums NaN. */
function sumOf<T>(a: T, b: T, field: AnyField): never {
  return (numberOf(a, field) + numberOf(b, field)) as never
}

function numberOf<T>(record: T, field: AnyField): number {
  const value: unknown = fieldOf(record, field)
  if (typeof value === 'number' || typeof value === 'bigint') return value as number
  throw wrongField('sum', field, value)
}

/**
 * Whether the field of `a` is less. NaN is greater than every number, as in Flink: else the order of the records
 * would decide. Throws INVALID_ARGUMENT for a missing field and null, which are neither less nor greater.
 */
function isLess<T>(a: T, b: T, field: AnyField): boolean {
  const x = comparableOf(a, field)
  const y = comparableOf(b, field)
  return x < y || (Number.isNaN(y) && !Number.isNaN(x))
}

function comparableOf<T>(record: T, field: AnyField): number {
  const value: unknown = fieldOf(record, field)
  if (value === undefined || value === null) {
    throw wrongField('min, max, minBy or maxBy', field, value)
  }
  return value as number
}

function wrongField(fold: string, field: AnyField, value: unknown): WeirError {
  const what = value === undefined ? 'missing' : value === null ? 'null' : `of type ${typeof value}`
  return new WeirError(
    'INVALID_ARGUMENT',
    `field "${String(field)}" is ${what} in a record of ${fold}: name a field that each record has, or use reduce`,
  )
}

function withField<T>(record: T, field: AnyField, value: never): T {
  const copy = (Array.isArray(record) ? [...record] : { ...record }) as Record<AnyField, unknown>
  copy[field] = value
  return copy as T
}
