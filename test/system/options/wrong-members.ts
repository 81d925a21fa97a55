import {
  type Checker,
  type Symbol as Declared,
  SignatureKind,
  SymbolFlags,
  type Type,
  TypeFlags,
} from 'typescript/unstable/sync'

/** A value that a union does not take, and what the refusal must name. */
export interface WrongMember {
  readonly value: unknown
  readonly named: string
}

/** Shorter words have no nearest one. */
const LEAST_WORD = 4
/** Larger members are options of their own, which another test walks. */
const MOST_FIELDS = 8
/** A message lists the words of a shorter union, and says where those of a longer one are listed. */
const MOST_WORDS = 20
/** Objects that functions of Weir make. */
const IS_MADE = /(Table|Descriptor)$/

/**
 * The values that a union of words and of plain objects does not take, by what TypeScript says of it: words that are
 * misspelt or in capital letters, objects with a field too many, with one that is missing or of a wrong type, and with a
 * tag that is misspelt. Empty for what is no union, and for its members with methods.
 */
export function wrongMembersOf(checker: Checker, type: Type): readonly WrongMember[] {
  const given = checker.getNonNullableType(type) ?? type
  const parts = given.isUnionType() ? given.getTypes() : []
  return parts.flatMap((part) => {
    const word = wordOf(part)
    if (word !== undefined) return wrongWords(word, parts.length <= MOST_WORDS)
    const fields = plainFieldsOf(checker, part)
    return fields === undefined ? [] : wrongObjects(checker, fields)
  })
}

/** A name with its middle letter twice. */
export function misspelt(name: string): string {
  const middle = name.length >> 1
  return name.slice(0, middle) + name[middle]! + name.slice(middle)
}

function wrongWords(word: string, isNamed = true): readonly WrongMember[] {
  if (word.length < LEAST_WORD) return []
  const loud = word.toUpperCase().replaceAll('-', '_')
  const wrong = loud === word ? [misspelt(word)] : [misspelt(word), loud]
  return wrong.map((value) => ({ value, named: isNamed ? word : '' }))
}

function wrongObjects(checker: Checker, fields: readonly Declared[]): readonly WrongMember[] {
  const sample = Object.fromEntries(
    fields
      .filter((field) => !isOptional(field))
      .map((field) => [field.name, sampleOf(checker, field)]),
  )
  return fields.flatMap((field) => {
    const { name } = field
    const { [name]: _, ...others } = sample
    const extra = { value: { ...sample, [misspelt(name)]: 1 }, named: misspelt(name) }
    const wrong = { value: { ...sample, [name]: Symbol('wrong') }, named: name }
    const missing = isOptional(field) ? [] : [{ value: others, named: name }]
    const word = wordOf(checker.getTypeOfSymbol(field)!)
    const tags = word === undefined ? [] : wrongWords(word)
    return [
      extra,
      wrong,
      ...missing,
      ...tags.map(({ value, named }) => ({ value: { ...sample, [name]: value }, named })),
    ]
  })
}

function wordOf(type: Type): string | undefined {
  if ((type.flags & TypeFlags.StringLiteral) === 0) return undefined
  return (type as unknown as { readonly value: string }).value
}

const isOptional = ({ flags }: Declared): boolean => (flags & SymbolFlags.Optional) !== 0

/** The fields of an object of data; undefined for other types. */
function plainFieldsOf(checker: Checker, type: Type): readonly Declared[] | undefined {
  if ((type.flags & (TypeFlags.Object | TypeFlags.Intersection)) === 0) return undefined
  const symbol = type.getSymbol()
  if (
    symbol !== undefined &&
    ((symbol.flags & SymbolFlags.Class) !== 0 || IS_MADE.test(symbol.name))
  ) {
    return undefined
  }
  const isCalled = checker.getSignaturesOfType(type, SignatureKind.Call).length > 0
  const fields = checker.getPropertiesOfType(type)
  const hasMethods = fields.some(({ flags }) => (flags & SymbolFlags.Method) !== 0)
  const isPlain = !isCalled && !hasMethods && fields.length > 0 && fields.length <= MOST_FIELDS
  return isPlain ? fields : undefined
}

/** A value that a field takes, as far as its type says. */
function sampleOf(checker: Checker, field: Declared): unknown {
  const type = checker.getTypeOfSymbol(field)!
  const [first] = type.isUnionType() ? type.getTypes() : [type]
  const word = wordOf(first!)
  if (word !== undefined) return word
  if ((first!.flags & TypeFlags.NumberLike) !== 0) return 1
  if ((first!.flags & TypeFlags.StringLike) !== 0) return 'text'
  if ((first!.flags & TypeFlags.BooleanLike) !== 0) return true
  if (checker.getSignaturesOfType(first!, SignatureKind.Call).length > 0) return () => {}
  const fields = plainFieldsOf(checker, first!)
  if (fields === undefined) return first!.getSymbol()?.name.endsWith('Array') ? [] : {}
  return Object.fromEntries(fields.map((inner) => [inner.name, sampleOf(checker, inner)]))
}
