import { join, resolve } from 'node:path'
import {
  API,
  type Checker,
  SignatureKind,
  SymbolFlags,
  type Type,
  TypeFlags,
} from 'typescript/unstable/sync'

import { type WrongMember, wrongMembersOf } from './wrong-members.ts'

const ROOT = resolve(import.meta.dirname, '../../..')

/** The entries of the package, from its `exports`. */
export const ENTRIES = [
  'index.ts',
  'learning.ts',
  'inference.ts',
  'client/index.ts',
  'connectors/kafka/index.ts',
  'testing/index.ts',
  'core/tracing/index.ts',
]

/** Names of types whose values are options, or plain data in place of options. */
const IS_OPTIONS = /(Options|Settings|Config|Place|NewTopic|JobDefinition|JobOptionSpec)$/

/** Options that only Weir gives: to objects that a program gets from it. */
const OWN = [
  'JobExecutionOptions',
  'KeyedBroadcastOptions',
  'KeyedBroadcastProcessOptions',
  'ResolvedClientOptions',
  'SavepointPlace',
]

/** What the type of an option takes, as far as a wrong value needs it. */
export type DeclaredKind =
  | 'number'
  | 'text'
  | 'flag'
  | 'words'
  | 'function'
  /** Objects alone. */
  | 'object'
  /** Any value. */
  | 'any'
  | 'other'

/** An option as TypeScript declares it. */
export interface DeclaredOption {
  readonly name: string
  readonly kind: DeclaredKind
  /** Values beside those of a union. */
  readonly wrongMembers: readonly WrongMember[]
}

/**
 * Every type of options that the package exports, or that an exported function, constructor or static method takes, with
 * its options.
 */
export function declaredOptions(): ReadonlyMap<string, readonly DeclaredOption[]> {
  using api = disposable(new API())
  const config = join(ROOT, 'tsconfig.json')
  const [project] = api.updateSnapshot({ openProjects: [config] }).getProjects()
  const { checker, program } = project!
  const found = new Map<string, readonly DeclaredOption[]>()

  const add = (name: string, type: Type): void => {
    const options = checker.getPropertiesOfType(type).map((property) => {
      const taken = checker.getTypeOfSymbol(property)!
      return {
        name: property.name,
        kind: kindOfType(checker, taken),
        wrongMembers: wrongMembersOf(checker, taken),
      }
    })
    // Options of a job are any names; the types of formats and of numbers have methods.
    if (options.length > 0 && !/^(toString|__)/.test(options[0]!.name)) found.set(name, options)
  }
  for (const entry of ENTRIES) {
    const file = program.getSourceFile(join(ROOT, 'src', entry))!
    for (const exported of checker.getExportsOfModule(checker.getSymbolAtLocation(file)!)) {
      const isAlias = (exported.flags & SymbolFlags.Alias) !== 0
      const symbol = isAlias ? checker.getAliasedSymbol(exported) : exported
      if ((symbol.flags & SymbolFlags.Type) !== 0 && IS_OPTIONS.test(symbol.name)) {
        add(symbol.name, checker.getDeclaredTypeOfSymbol(symbol))
      }
      if ((symbol.flags & (SymbolFlags.Function | SymbolFlags.Class)) === 0) continue
      const type = checker.getTypeOfSymbol(symbol)!
      const signatures = [SignatureKind.Call, SignatureKind.Construct].flatMap((kind) =>
        checker.getSignaturesOfType(type, kind),
      )
      const statics =
        (symbol.flags & SymbolFlags.Class) === 0 ? [] : checker.getPropertiesOfType(type)
      for (const property of statics) {
        const own = checker.getTypeOfSymbol(property)!
        signatures.push(...checker.getSignaturesOfType(own, SignatureKind.Call))
      }
      for (const signature of signatures) {
        for (const parameter of signature.getParameters()) {
          const taken = checker.getTypeOfSymbol(parameter)!
          const given = checker.getNonNullableType(taken) ?? taken
          const name = given.getSymbol()?.name ?? ''
          const isTaken = IS_OPTIONS.test(name) && !OWN.includes(name) && !found.has(name)
          if (isTaken) add(name, given)
        }
      }
    }
  }
  return found
}

/** Whether a type takes null. */
export function takesNull(type: Type): boolean {
  const parts = type.isUnionType() ? type.getTypes() : [type]
  return parts.some((part) => (part.flags & TypeFlags.Null) !== 0)
}

/** What a type takes, without undefined. */
export function kindOfType(checker: Checker, type: Type): DeclaredKind {
  if ((type.flags & (TypeFlags.AnyOrUnknown | TypeFlags.TypeVariable)) !== 0) return 'any'
  const given = checker.getNonNullableType(type) ?? type
  const parts = given.isUnionType() ? given.getTypes() : [given]
  const every = (flags: number): boolean => parts.every((part) => (part.flags & flags) !== 0)
  if (every(TypeFlags.StringLiteral)) return 'words'
  if (every(TypeFlags.NumberLike)) return 'number'
  if (every(TypeFlags.StringLike)) return 'text'
  if (every(TypeFlags.BooleanLike)) return 'flag'
  const [only] = parts
  const isFunction =
    parts.length === 1 && checker.getSignaturesOfType(only!, SignatureKind.Call).length > 0
  if (isFunction) return 'function'
  return every(TypeFlags.Object | TypeFlags.Intersection) ? 'object' : 'other'
}

function disposable(api: API): API & Disposable {
  return Object.assign(api, { [Symbol.dispose]: () => api.close() })
}
