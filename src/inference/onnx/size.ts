/**
 * Size of a dimension, or a whole number that a graph computes from sizes: a product of a number, of sizes that a
 * request chooses, and of the number of items.
 */
export interface Size {
  /** The number of items is a factor. */
  readonly isOfItems: boolean
  readonly factor: number
  /** Names of the other sizes, sorted; one that occurs twice is there twice. */
  readonly names: readonly string[]
}

/** The number itself. */
export const sizeOf = (factor: number): Size => ({ isOfItems: false, factor, names: [] })
/** A size that the request chooses, equal wherever it has this name. */
export const namedSize = (name: string): Size => ({ isOfItems: false, factor: 1, names: [name] })
/** The number of items. */
export const ITEMS: Size = { isOfItems: true, factor: 1, names: [] }
/** One. */
export const ONE: Size = sizeOf(1)

/** The number, where it is one; undefined for a size that only a request knows. */
export const knownSize = ({ isOfItems, factor, names }: Size): number | undefined =>
  isOfItems || names.length > 0 ? undefined : factor

/** Whether both are the same for every request. */
export function isSameSize(a: Size, b: Size): boolean {
  return (
    a.isOfItems === b.isOfItems &&
    a.factor === b.factor &&
    a.names.length === b.names.length &&
    a.names.every((name, i) => name === b.names[i])
  )
}

/** The product; undefined when the number of items would be in it twice. */
export function times(a: Size, b: Size): Size | undefined {
  if (a.factor === 0 || b.factor === 0) return sizeOf(0)
  if (a.isOfItems && b.isOfItems) return undefined
  return {
    isOfItems: a.isOfItems || b.isOfItems,
    factor: a.factor * b.factor,
    names: [...a.names, ...b.names].sort(),
  }
}

/** The product of all; undefined when the number of items would be in it twice. */
export function productOf(sizes: readonly Size[]): Size | undefined {
  return sizes.reduce<Size | undefined>(
    (product, size) => (product === undefined ? undefined : times(product, size)),
    ONE,
  )
}

/** The quotient; undefined unless it is whole for every request. */
export function dividedBy(a: Size, b: Size): Size | undefined {
  if (b.factor === 0 || !Number.isInteger(a.factor / b.factor)) return undefined
  if (b.isOfItems && !a.isOfItems) return undefined
  const names = [...a.names]
  for (const name of b.names) {
    const at = names.indexOf(name)
    if (at < 0) return undefined
    names.splice(at, 1)
  }
  return { isOfItems: a.isOfItems && !b.isOfItems, factor: a.factor / b.factor, names }
}
